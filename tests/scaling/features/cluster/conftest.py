"""The browser of the tests of pages."""

from tests.scaling.reporting.page.conftest import browser  # noqa: F401
