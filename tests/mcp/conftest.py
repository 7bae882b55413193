"""The server for these tests, with the helpers of the Python client's tests."""

from servers import server as server
