"""One HTML page that answers: text and numbers from a result, and what a browser needs to ask it more."""
