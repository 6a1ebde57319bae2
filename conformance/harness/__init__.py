"""The ground of the tests: Java, jars, brokers as processes, the Java command line tools."""
