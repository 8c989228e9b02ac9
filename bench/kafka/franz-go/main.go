// The load of enqueue() with franz-go: main HOST:PORT TOPIC SECONDS VALUE_BYTES. Prints records per second.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	seconds, _ := strconv.Atoi(os.Args[3])
	valueBytes, _ := strconv.Atoi(os.Args[4])
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]),
		kgo.DefaultProduceTopic(os.Args[2]),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
	if err != nil {
		panic(err)
	}
	value := make([]byte, valueBytes)
	ctx := context.Background()
	var acknowledged atomic.Int64
	run := func(length time.Duration) float64 {
		acknowledged.Store(0)
		start := time.Now()
		for time.Since(start) < length {
			for i := 0; i < 1000; i++ {
				client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
					if err == nil {
						acknowledged.Add(1)
					}
				})
			}
		}
		if err := client.Flush(ctx); err != nil {
			panic(err)
		}
		return float64(acknowledged.Load()) / time.Since(start).Seconds()
	}
	run(time.Second)
	fmt.Printf("%.0f\n", run(time.Duration(seconds)*time.Second))
	client.Close()
}
