// franz-go in the storm: main HOST:PORT,... TOPIC REQUEST_TIMEOUT_MS (0: as it comes). Reads "ID PARTITION VALUE" lines, and
// answers "ID" when the record is acknowledged, "ID ERROR" when the client gave up. Ends when its input does.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.DefaultProduceTopic(os.Args[2]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	}
	if ms, _ := strconv.Atoi(os.Args[3]); ms > 0 {
		options = append(options, kgo.ProduceRequestTimeout(time.Duration(ms)*time.Millisecond), kgo.RequestTimeoutOverhead(time.Second))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	var mutex sync.Mutex
	output := bufio.NewWriter(os.Stdout)
	answer := func(line string) {
		mutex.Lock()
		defer mutex.Unlock()
		fmt.Fprintln(output, line)
		output.Flush()
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		parts := strings.SplitN(input.Text(), " ", 3)
		partition, _ := strconv.Atoi(parts[1])
		record := &kgo.Record{Partition: int32(partition), Value: []byte(parts[2])}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			if err == nil {
				answer(parts[0])
			} else {
				answer(parts[0] + " " + strings.ReplaceAll(err.Error(), "\n", " "))
			}
		})
	}
	client.Close()
}
