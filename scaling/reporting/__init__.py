"""Tables, figures and pages; prints and saves nothing by itself."""
