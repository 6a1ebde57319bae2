"""What the tests stand on: Java, jars, brokers as processes, the Java command line tools."""
