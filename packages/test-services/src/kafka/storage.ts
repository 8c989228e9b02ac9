import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { KafkaPrograms } from './programs.ts';

const scramMechanisms = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

/** Writes a KRaft broker's first files (`kafka.tools.StorageTool format`), users of SCRAM included. */
export async function formatStorage(
  programs: KafkaPrograms,
  propertiesFile: string,
  clusterId: string,
  jvmArgs: readonly string[],
  users: Readonly<Record<string, string>> = {},
): Promise<void> {
  const scram = Object.entries(users).flatMap(([name, password]) =>
    scramMechanisms.flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${name},password=${password}]`]),
  );
  const args = ['format', '-t', clusterId, '-c', propertiesFile, ...scram];
  const command = programs.tool(jvmArgs, 'kafka.tools.StorageTool', args);
  await promisify(execFile)(command.program, [...command.args]);
}
