import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchOnce, run } from '../downloads.ts';

/** Versions the tests run on: brokers' rules differ between 3.9 and 4.x. */
export type KafkaVersion = '4.1.1' | '3.9.1';

// The jars come without a logging back end; without one a broker that can't start says nothing.
const loggingBackEnd: Record<KafkaVersion, string> = {
  '4.1.1': 'org.apache.logging.log4j:log4j-slf4j-impl:2.24.3',
  '3.9.1': 'org.slf4j:slf4j-reload4j:1.7.36',
};

function projectFile(version: KafkaVersion): string {
  const dependencies = [
    `org.apache.kafka:kafka_2.13:${version}`,
    `org.apache.kafka:kafka-tools:${version}`,
    loggingBackEnd[version],
  ];
  const elements = dependencies.map((coordinates) => {
    const [group, artifact, number] = coordinates.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${number}</version></dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>sendonce</groupId><artifactId>kafka-for-tests</artifactId><version>1</version>
<dependencies>${elements.join('')}</dependencies></project>\n`;
}

/**
 * The folder with Kafka's jars and their dependencies. The first call fetches them from Maven Central; later ones, in
 * whatever process, find them.
 */
export function kafkaJars(version: KafkaVersion): Promise<string> {
  return fetchOnce(join('kafka', version), async (folder) => {
    writeFileSync(join(folder, 'pom.xml'), projectFile(version));
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=.'], folder);
  });
}
