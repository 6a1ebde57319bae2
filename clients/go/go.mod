module kafkalite.io/testing

go 1.22
