// Verifies a signature of a text with a trusted key. Pure. Source: OCM v0.11.0, signing/handlers/{rsa,rsa-pss}, signing/signutils/signature.go.
//
//   V1. The key is the Context's public key. If the Context has only an authority, the key is that of the certificate in the signature, which the
//       authority must have issued: a signature never brings its own trust.
//   V2. Only the algorithms named here are accepted, and keys have at least 2048 bits.

import { constants, createPublicKey, verify, X509Certificate, type KeyObject } from 'node:crypto'
import { typeName, type Fields } from '../render/field-reader.ts'
import { isFields } from '../../../workflows/kit/index.ts'

/** PEM texts with their place for messages. */
export interface TrustedKeys {
  readonly publicKey: { readonly pem: string; readonly place: string } | undefined
  readonly authorities: { readonly pem: string; readonly place: string } | undefined
}

/** The fields of the descriptor. */
export interface Signature {
  readonly algorithm: string
  readonly mediaType: string
  readonly value: string
}

export const HASHES: Readonly<Record<string, 'sha256' | 'sha512'>> = {
  'SHA-256': 'sha256',
  sha256: 'sha256',
  'SHA-512': 'sha512',
  sha512: 'sha512',
}

const PKCS1 = 'RSASSA-PKCS1-V1_5'
const PSS = 'RSASSA-PSS'
const PLAIN = ['application/vnd.ocm.signature.rsa', 'application/vnd.ocm.signature.rsa.pss']
const PLAIN_PSS = PLAIN[1]
const PEM = 'application/x-pem-file'
const KEY_BITS = { least: 2048, most: 16_384 }
const MAX_VALUE = 256 * 1024

/**
 * Verifies the signature of the text's digest.
 *
 * @returns the problem with the actual and expected value; undefined for a valid signature.
 */
export async function signatureProblem(
  text: string,
  hash: 'sha256' | 'sha512',
  signature: Signature,
  keys: TrustedKeys,
): Promise<string | undefined> {
  const { algorithm, mediaType, value } = signature
  if (algorithm !== PKCS1 && algorithm !== PSS)
    return `algorithm: found ${shown(algorithm)}; expected ${PKCS1} or ${PSS}`
  if (value.length > MAX_VALUE) return `value: found ${value.length} characters; expected at most ${MAX_VALUE}`
  const plain = PLAIN.includes(mediaType) ? plainIn(value) : undefined
  const read = mediaType === PEM ? pemIn(value) : plain
  if (read === undefined)
    return `mediaType: found ${shown(mediaType)}; expected ${[...PLAIN, PEM].join(', ')}, and a value of that kind`
  const key = await keyOf(read.chain, keys)
  if ('problem' in key) return key.problem
  // The OCM library writes PKCS1 for both algorithms, and PSS only in the media type.
  const isPss = algorithm === PSS || mediaType === PLAIN_PSS
  const padding = isPss
    ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO }
    : { padding: constants.RSA_PKCS1_PADDING }
  const isMade = orUndefined(() => verify(hash, Buffer.from(text), { key: key.key, ...padding }, read.signature))
  return isMade === true
    ? undefined
    : `the key of ${key.place} did not create it; sign the component again, or correct the key`
}

interface Read {
  readonly signature: Buffer
  readonly chain: readonly Buffer[]
}

function plainIn(value: string): Read | undefined {
  return /^(?:[0-9a-fA-F]{2})+$/.test(value) ? { signature: Buffer.from(value, 'hex'), chain: [] } : undefined
}

function pemIn(value: string): Read | undefined {
  const blocks = blocksIn(value)
  const signature = blocks.find(({ kind }) => kind === 'SIGNATURE')
  if (signature === undefined) return undefined
  return { signature: signature.bytes, chain: certificatesIn(blocks) }
}

interface Block {
  readonly kind: string
  readonly bytes: Buffer
}

// RFC 1421 allows headers; a line of base64 contains no colon.
function blocksIn(pem: string): readonly Block[] {
  const blocks: Block[] = []
  let open: { readonly kind: string; readonly lines: string[] } | undefined
  for (const line of pem.split(/\r?\n/)) {
    const [, edge, kind = ''] = /^-----(BEGIN|END) ([A-Z0-9 ]+)-----\s*$/.exec(line) ?? []
    if (edge === 'END' && open?.kind === kind) blocks.push({ kind, bytes: Buffer.from(open.lines.join(''), 'base64') })
    if (edge !== undefined) open = edge === 'BEGIN' ? { kind, lines: [] } : undefined
    else if (open !== undefined && !line.includes(':')) open.lines.push(line)
  }
  return blocks
}

function certificatesIn(blocks: readonly Block[]): readonly Buffer[] {
  return blocks.filter(({ kind }) => kind === 'CERTIFICATE').map(({ bytes }) => bytes)
}

type FoundKey = { readonly key: KeyObject; readonly place: string } | { readonly problem: string }

/** Implements V1. */
async function keyOf(chain: readonly Buffer[], { publicKey, authorities }: TrustedKeys): Promise<FoundKey> {
  if (publicKey !== undefined) return rsaKey(() => createPublicKey(publicKey.pem), publicKey.place)
  if (authorities === undefined)
    return {
      problem: 'no key to verify it; add publicKeySecretReference or caCertificateSecretReference to the Context',
    }
  const trusted = certificates(certificatesIn(blocksIn(authorities.pem)))
  if (trusted === undefined || trusted.length === 0)
    return { problem: `${authorities.place}: found no certificate; expected PEM` }
  // Imported on demand: the library has 160 modules, which every worker would load at start.
  const { chainProblem, MAX_CERTIFICATES } = await import('./certificate-chain.ts')
  const found = certificates(chain.slice(0, MAX_CERTIFICATES + 1))
  const [signer] = found ?? []
  if (found === undefined || signer === undefined)
    return { problem: `found no certificate with it; expected one issued by ${authorities.place}` }
  // Extensions of a certificate are parsed on access, so this may throw.
  const problem = (
    orUndefined(() => ({ of: chainProblem(found, trusted) })) ?? { of: 'found an unreadable certificate' }
  ).of
  if (problem !== undefined) return { problem: `its certificate: ${problem}; expected one of ${authorities.place}` }
  return rsaKey(() => signer.publicKey, 'its certificate')
}

/** Implements V2. */
function rsaKey(read: () => KeyObject, place: string): FoundKey {
  const key = orUndefined(read)
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0
  if (key === undefined || !['rsa', 'rsa-pss'].includes(key.asymmetricKeyType ?? ''))
    return { problem: `${place}: found no RSA public key; expected PEM` }
  const { least, most } = KEY_BITS
  if (bits < least || bits > most) return { problem: `${place}: found ${bits} bits; expected ${least} to ${most}` }
  return { key, place }
}

function certificates(ders: readonly Buffer[]): readonly X509Certificate[] | undefined {
  return orUndefined(() => ders.map((der) => new X509Certificate(der)))
}

// The TLS library throws many different errors for invalid input.
function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** @returns the fields of a signature, or the problem. */
export function readSignature(value: unknown): Signature | { readonly problem: string } {
  const fields: Fields = isFields(value) ? value : {}
  const { algorithm, mediaType, value: text } = fields
  const wrong = Object.entries({ algorithm, mediaType, value: text }).find(([, one]) => typeof one !== 'string')
  if (wrong !== undefined) return { problem: `${wrong[0]}: found ${typeName(wrong[1])}; expected text` }
  return { algorithm: String(algorithm), mediaType: String(mediaType), value: String(text) }
}

const SHOWN = 100

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text)
}
