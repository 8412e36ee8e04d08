// Signatures that bring their certificates: what an authority must have issued, and how.

import 'reflect-metadata'
import { sign, webcrypto, KeyObject } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { beforeAll, describe, expect, it } from 'vitest'
import { signatureProblem } from '../../../../activities/landscaper/components/verify-signature.ts'

const ALGORITHM = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
}
const YEAR = 2020
const from = (year: number) => ({ notBefore: new Date(`${year}-01-01`), notAfter: new Date(`${year + 1}-01-01`) })

interface Made {
  readonly certificate: X509Certificate
  readonly keys: webcrypto.CryptoKeyPair
}

const isAuthority = (pathLength?: number) => new BasicConstraintsExtension(true, pathLength, true)
const isFor = (...usages: string[]) => new ExtendedKeyUsageExtension(usages)

interface More {
  readonly year?: number
  /** With which the key signs. */
  readonly hash?: string
}

async function make(
  name: string,
  by: Made | undefined,
  extensions: readonly Extension[],
  { year = YEAR, hash = 'SHA-256' }: More = {},
): Promise<Made> {
  const keys = await webcrypto.subtle.generateKey({ ...ALGORITHM, hash }, true, ['sign', 'verify'])
  const usual = { signingAlgorithm: ALGORITHM, ...from(year), extensions: [...extensions] }
  const subject = { subject: `CN=${name}`, issuer: by?.certificate.subject ?? `CN=${name}` }
  const certificate = await X509CertificateGenerator.create({
    ...usual,
    ...subject,
    publicKey: keys.publicKey,
    signingKey: (by ?? { keys }).keys.privateKey,
  })
  return { certificate, keys }
}

const codeSigning = isFor(ExtendedKeyUsage.codeSigning)
let root: Made, between: Made, signer: Made, stranger: Made
beforeAll(async () => {
  root = await make('root', undefined, [isAuthority(1)])
  between = await make('between', root, [isAuthority(0)])
  signer = await make('signer', between, [codeSigning])
  stranger = await make('root', undefined, [isAuthority()])
})

const TEXT = 'what is signed'
const pemOf = (...made: Made[]) => made.map(({ certificate }) => `${certificate.toString('pem')}\n`).join('')

async function problem(by: Made, chain: readonly Made[], authorities: string) {
  const bytes = sign('sha256', Buffer.from(TEXT), KeyObject.from(by.keys.privateKey))
  const block = `-----BEGIN SIGNATURE-----\nSignature Algorithm: RSASSA-PKCS1-V1_5\n\n${bytes.toString('base64')}\n-----END SIGNATURE-----\n`
  const value = block + pemOf(...chain)
  return await signatureProblem(
    TEXT,
    'sha256',
    { algorithm: 'RSASSA-PKCS1-V1_5', mediaType: 'application/x-pem-file', value },
    { publicKey: undefined, authorities: { pem: authorities, place: 'secret n/ca' } },
  )
}

describe('a signature with certificates', () => {
  it('is taken when the authority has issued them, also when they have ended since', async () => {
    expect(await problem(signer, [signer, between], pemOf(root))).toBeUndefined()
    expect(await problem(signer, [signer, between, root], pemOf(stranger, root))).toBeUndefined()
    expect(await problem(signer, [signer], pemOf(between))).toBeUndefined()
    expect(await problem(signer, [signer], pemOf(signer))).toBeUndefined()
  })

  it('is refused when another one has, also of the same name', async () => {
    const wanted = '"CN=between" is issued by "CN=root", which is not trusted; expected one of secret n/ca'
    expect(await problem(signer, [signer, between], pemOf(stranger))).toBe(`its certificate: ${wanted}`)
    expect(await problem(signer, [signer, between, root], pemOf(stranger))).toContain('is issued by "CN=root"')
    expect(await problem(signer, [signer], pemOf(root))).toContain('"CN=signer" is issued by "CN=between"')
  })

  it('is refused when the key of another certificate made it', async () => {
    expect(await problem(stranger, [signer, between], pemOf(root))).toContain(
      'the key of its certificate did not create it',
    )
  })

  it('is refused without certificates, and without an authority', async () => {
    expect(await problem(signer, [], pemOf(root))).toContain('found no certificate with it')
    expect(await problem(signer, [signer, between], 'nothing')).toContain('secret n/ca: found no certificate')
  })

  it.each<[string, (by: Made) => Promise<readonly Made[]>, string]>([
    [
      'for servers',
      async () => [await make('a', between, [isFor(ExtendedKeyUsage.serverAuth)]), between],
      'code signing',
    ],
    [
      'of a time when none held',
      async () => [await make('a', between, [codeSigning], { year: YEAR + 5 }), between],
      'was not valid at',
    ],
    [
      'issued by no authority',
      async () => [await make('a', signer, [codeSigning]), signer, between],
      'is not an authority',
    ],
    [
      'below one authority too many',
      async () => {
        const below = await make('below', between, [isAuthority()])
        return [await make('a', below, [codeSigning]), below, between]
      },
      '"CN=between" may have 0 authorities below it, found 1',
    ],
    [
      'that was signed with SHA-1',
      async () => {
        const weak = await make('weak', root, [isAuthority(0)], { hash: 'SHA-1' })
        return [await make('a', weak, [codeSigning]), weak]
      },
      '"CN=a" is issued by "CN=weak", which is not trusted',
    ],
    [
      'whose extensions are no ASN.1',
      async () => [await make('a', between, [new Extension('2.5.29.19', true, new Uint8Array([0xff]))]), between],
      'its certificate: ',
    ],
    [
      'with a demand that nobody knows',
      async () => [await make('a', between, [new Extension('1.2.3.4', true, new Uint8Array([5, 0]))]), between],
      'the critical extension 1.2.3.4',
    ],
  ])('is refused with a certificate %s', async (_, chainOf, expected) => {
    const chain = await chainOf(signer)
    const [by] = chain
    expect(by === undefined ? undefined : await problem(by, chain, pemOf(root))).toContain(expected)
  })
})
