import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificates {
  /** PEM of the authority that signed the brokers' certificate, to pass as `ssl.ca`. */
  readonly ca: string;
  /** Private key and certificate chain in one PEM file, as `ssl.keystore.location` wants it. Names: localhost, 127.0.0.1. */
  readonly brokerKeyAndCertificateFile: string;
}

const validDays = '2';

/** Makes an authority and a broker's certificate with openssl. Nothing of it is worth keeping. */
export function makeCertificates(folder: string): Certificates {
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    validDays,
    '-subj',
    '/CN=sendonce test authority',
  );
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'broker.key',
    '-out',
    'broker.csr',
    '-subj',
    '/CN=localhost',
  );
  writeFileSync(file('names.ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  openssl(
    'x509',
    '-req',
    '-in',
    'broker.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-out',
    'broker.pem',
    '-days',
    validDays,
    '-extfile',
    'names.ext',
  );
  const ca = readFileSync(file('ca.pem'), 'utf8');
  const brokerKeyAndCertificateFile = file('broker-key-and-certificate.pem');
  writeFileSync(
    brokerKeyAndCertificateFile,
    `${readFileSync(file('broker.key'), 'utf8')}${readFileSync(file('broker.pem'), 'utf8')}${ca}`,
  );
  return { ca, brokerKeyAndCertificateFile };
}
