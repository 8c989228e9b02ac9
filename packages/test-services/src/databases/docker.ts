import type { ServiceCommand } from './service-process.ts';

/**
 * Runs a server in a container that ends with us. The client's process may be killed at any moment, and a container would
 * outlive it: so the container's own shell waits for its input, which closes with the client, and ends the server then.
 */
export function dockerCommand(
  image: string,
  containerPort: number,
  hostPort: number,
  environment: Readonly<Record<string, string>>,
  server: readonly string[],
): Pick<ServiceCommand, 'program' | 'args'> {
  const script = '"$@" < /dev/null & server=$!; cat > /dev/null; kill -INT $server; wait $server';
  // `tail -f` keeps the client's input open for as long as this process group lives; the guardian kills the group's leader.
  const client = [
    'docker run --rm -i',
    `-p 127.0.0.1:${hostPort}:${containerPort}`,
    ...Object.entries(environment).map(([name, value]) => `-e ${name}=${value}`),
    `${image} sh -c '${script}' sh ${server.join(' ')}`,
  ].join(' ');
  return { program: 'sh', args: ['-c', `tail -f /dev/null --pid=$$ | ${client}`] };
}
