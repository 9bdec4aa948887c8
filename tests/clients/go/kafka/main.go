// Go's Kafka clients on the Kafka door: `kafka LIBRARY --list | ADDRESS [SCENARIO…]`.

package main

import (
	"fmt"
	"os"

	. "daybook/clients/check"
)

var libraries = map[string]func(address, scenario string) client{
	"franz-go": openFranz,
	"sarama":   openSarama,
}

func main() {
	if len(os.Args) < 2 || libraries[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kafka franz-go|sarama --list | ADDRESS [SCENARIO…]")
		os.Exit(2)
	}
	Main(os.Args[2:], scenarios, libraries[os.Args[1]])
}
