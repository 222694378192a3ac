module proof

go 1.24
