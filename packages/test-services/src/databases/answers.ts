import { connect } from 'node:net';

/** Sends `request` to a loopback port; whether the first bytes of the answer are `expected`. */
function answersWith(port: number, request: Buffer, expected: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2_000, () => settle(false));
    socket.once('connect', () => socket.write(request));
    socket.once('data', (data) => settle(data.toString('latin1').startsWith(expected)));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
  });
}

/** Whether PostgreSQL, or PgBouncer, lets someone in: it answers an `R` to the first message, and an `E` while it starts. */
export function postgresAnswers(port: number): Promise<boolean> {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + parameters.length, 0);
  head.writeInt32BE(196_608, 4);
  return answersWith(port, Buffer.concat([head, parameters]), 'R');
}

export function redisAnswers(port: number): Promise<boolean> {
  return answersWith(port, Buffer.from('PING\r\n'), '+PONG');
}
