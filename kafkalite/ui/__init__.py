"""The page that shows a broker to people: files for a browser, and serving them."""
