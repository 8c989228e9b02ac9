import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startKafka } from '../src/index.ts';
import { kafkaJars } from '../src/kafka/jars.ts';

// There is no Docker engine where these tests run. `docker` is a script that writes down what it is told, and does it with this
// machine's own Java, to which it gives the paths of our jars for those inside the image.

const pathOf = (program: string): string => {
  const { stdout } = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' });
  return stdout.trim();
};
const ownPath = process.env.PATH;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sendonce-docker-'));
});
afterEach(() => {
  process.env.PATH = ownPath;
  rmSync(folder, { recursive: true, force: true });
});

/** A folder for PATH with these programs and nothing else. */
function onlyHas(...programs: readonly string[]): void {
  for (const program of programs) symlinkSync(pathOf(program), join(folder, program));
}

function addDocker(script: string): void {
  writeFileSync(join(folder, 'docker'), `#!${pathOf('bash')}\n${script}\n`);
  chmodSync(join(folder, 'docker'), 0o755);
}

const toldTo = (): string[] =>
  readFileSync(join(folder, 'told'), 'utf8')
    .split('\n')
    .filter((line) => line !== '');

async function untilTold(command: RegExp): Promise<void> {
  for (let tries = 0; !toldTo().some((line) => command.test(line)); tries++) {
    if (tries === 200) throw new Error(`docker was not told to ${command} within ten seconds`);
    await sleep(50);
  }
}

const engine = (jars: string) => `
echo "$@" >> '${folder}/told'
case "$1" in
  run)
    shift
    while [ "$1" != java ]; do
      if [ "$1" = --name ]; then echo $$ > '${folder}/'"$2"; fi
      shift
    done
    shift 2
    arguments=()
    for argument in "$@"; do arguments+=("\${argument/\\/opt\\/kafka\\/libs/${jars.replaceAll('/', '\\/')}}"); done
    exec '${pathOf('java')}' "\${arguments[@]}" ;;
  kill) kill -"$3" "$(cat '${folder}/'"$4")" ;;
  pause) kill -STOP "$(cat '${folder}/'"$2")" ;;
  unpause) kill -CONT "$(cat '${folder}/'"$2")" ;;
  rm) kill -KILL "$(cat '${folder}/'"$3")" ;;
esac`;

describe('Kafka for tests, where Java and Maven are missing', () => {
  test.each([
    ['there is no Docker either', undefined],
    ['Docker’s engine does not answer', 'exit 1'],
  ])('%s: it says what to install', async (_, docker) => {
    onlyHas('sh');
    if (docker !== undefined) addDocker(docker);
    process.env.PATH = folder;
    const starting = startKafka({ config: { 'num.io.threads': 2 } });
    await expect(starting).rejects.toThrow(
      /Java 17 or newer and Maven.*apt-get install openjdk-17-jre-headless maven.*or start Docker, or set KAFKA_BROKERS/s,
    );
  });

  test('a Docker engine answers: the official image runs everything, and no container outlives the process that asked', async () => {
    onlyHas('sh', 'cat', 'rm', 'sleep');
    addDocker(engine(await kafkaJars('4.1.1')));
    const script = `const { startKafka } = await import(${JSON.stringify(join(import.meta.dirname, '../src/index.ts'))});
      const kafka = await startKafka({ config: { 'broker.session.timeout.ms': 2_000 } });
      await kafka.createTopic({ topic: 'payments' });
      kafka.freeze(1);
      kafka.resume(1);
      const listed = await kafka.runTool('org.apache.kafka.tools.TopicCommand', ['--bootstrap-server', kafka.bootstrap[0], '--list']);
      await kafka.restart(1);
      await kafka.kill(1);
      await kafka.restart(1);
      console.log(JSON.stringify({ listed, data: kafka.logDir(1) }));
      setInterval(() => {}, 1000);`;
    const asking = spawn(process.execPath, ['--conditions=@sendonce/source', '--input-type=module', '-e', script], {
      env: { ...process.env, PATH: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const line = await new Promise<string>((resolve, reject) => {
      asking.stdout.once('data', (chunk) => resolve(String(chunk)));
      asking.once('exit', (code) => reject(new Error(`ended with ${code}; docker was told: ${toldTo().join('\n')}`)));
    });
    const { listed, data } = JSON.parse(line) as { listed: string; data: string };
    expect(listed).toBe('payments\n');
    asking.removeAllListeners('exit');
    asking.kill('SIGKILL');
    await untilTold(/^rm --force/);

    const clusterFolder = dirname(dirname(data));
    const user = `${process.getuid!()}:${process.getgid!()}`;
    const options = `--network host --user ${user} --volume ${clusterFolder}:${clusterFolder} --entrypoint java apache/kafka:4.1.1`;
    const name = `${clusterFolder.split('/').at(-1)!}-broker-1`;
    const told = toldTo();
    expect(told[0]).toBe('info');
    expect(told[1]).toMatch(
      new RegExp(`^run --rm --interactive ${options} .*-cp /opt/kafka/libs/\\* kafka.tools.StorageTool format`),
    );
    const brokerRun = new RegExp(
      `^run --rm --interactive --name ${name} ${options} .*-cp /opt/kafka/libs/\\* kafka.Kafka ${clusterFolder}/broker-1/server.properties$`,
    );
    expect(told.filter((each) => brokerRun.test(each))).toHaveLength(3);
    expect(told.filter((each) => !each.startsWith('run ') && each !== 'info')).toEqual([
      `pause ${name}`,
      `unpause ${name}`,
      `kill --signal TERM ${name}`,
      `kill --signal KILL ${name}`,
      `rm --force ${name}`,
    ]);
    for (let tries = 0; existsSync(clusterFolder) && tries < 200; tries++) await sleep(50);
    expect(existsSync(clusterFolder)).toBe(false);
  });
});
