// Certificates for tests: an authority of one's own, and what it issues.

import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000

/** PEM texts. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

export class Authority {
  readonly #keys: webcrypto.CryptoKeyPair
  readonly #certificate: X509Certificate

  private constructor(keys: webcrypto.CryptoKeyPair, certificate: X509Certificate) {
    this.#keys = keys
    this.#certificate = certificate
  }

  static async make(name: string): Promise<Authority> {
    const keys = await newKeys()
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      keys,
      signingAlgorithm: ALGORITHM,
      ...lifetime(),
      extensions: [new BasicConstraintsExtension(true, 1, true)],
    })
    return new Authority(keys, certificate)
  }

  /** PEM. */
  get cert(): string {
    return this.#certificate.toString('pem')
  }

  /** A certificate of a server with these DNS names, and of a client as well. */
  async issue(...names: readonly string[]): Promise<Pair> {
    const keys = await newKeys()
    const { serverAuth, clientAuth } = ExtendedKeyUsage
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${names[0] ?? 'test'}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      ...lifetime(),
      extensions: [
        new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value }))),
        new ExtendedKeyUsageExtension([serverAuth, clientAuth].map(String)),
      ],
    })
    const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
    return { cert: certificate.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') }
  }
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
}

function lifetime() {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }
}
