// Encrypts payloads with a key, so that Temporal stores no readable data of objects: inputs, results, memos, and messages of failures.
// Search attributes and workflow IDs stay readable.
//
//   P1. AES-256-GCM with a fresh nonce for each payload. The name of the key is stored with the payload.
//   P2. Keys rotate: the first key of the file encrypts, all keys decrypt. Payloads without encryption are accepted: they are older than the key.
//   P3. All workers must be able to decrypt before one encrypts: with the word `readable` on the first line, a file's keys decrypt and nothing is encrypted.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common'
import proto from '@temporalio/proto'

import { modulePath } from '../../server/config.ts'
import { compressionCodec } from './payload-size.ts'

/** The encoding and metadata names of Temporal's samples, whose codec servers can decrypt these payloads with the same key. */
const ENCODING = 'binary/encrypted'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const { Payload: PayloadMessage } = proto.temporal.api.common.v1

/** The module of the payload converter that keeps all digits; part of every bundle. */
export const EXACT_PAYLOADS = modulePath('reconciler/temporal/exact-payloads.ts')

/** The module that encrypts failures; part of the bundle if a payload key is configured. */
export const ENCRYPTED_FAILURES = modulePath('reconciler/temporal/encrypted-failures.ts')

export interface PayloadKeys {
  /** By name, in the order of the file; at least one. */
  readonly keys: ReadonlyMap<string, Buffer>
  /** Name of the key that encrypts; undefined: nothing is encrypted (P3). */
  readonly encryptionKey: string | undefined
}

/** Alone on the first line. */
const READABLE = 'readable'

/**
 * Reads a file of keys: a line for each, with its name and 32 bytes in base64. The first key encrypts, unless the word `readable` precedes it.
 *
 * @throws with path, line, the actual and the expected value; never with a key.
 */
export function readPayloadKeys(path: string): PayloadKeys {
  const keys = new Map<string, Buffer>()
  let isReadOnly = false
  for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries()) {
    const where = `${path}, line ${index + 1}`
    const text = line.trim()
    if (text === '' || text.startsWith('#')) continue
    if (text === READABLE && keys.size === 0) {
      isReadOnly = true
      continue
    }
    const [name, key] = readKey(text, where)
    if (keys.has(name)) throw new Error(`${where}: found a second key ${name}; expected each name once`)
    keys.set(name, key)
  }
  if (keys.size === 0)
    throw new Error(`${path}: the file has no key; expected a line with a name and 32 bytes in base64`)
  return { keys, encryptionKey: isReadOnly ? undefined : [...keys.keys()][0] }
}

function readKey(text: string, where: string): readonly [name: string, key: Buffer] {
  const [name = '', encoded, ...rest] = text.split(/\s+/)
  if (encoded === undefined || rest.length > 0)
    throw new Error(
      `${where}: found ${1 + rest.length + (encoded === undefined ? 0 : 1)} words; expected a name and a key`,
    )
  const key = Buffer.from(encoded, 'base64')
  if (key.length !== KEY_BYTES)
    throw new Error(`${where}: found a key of ${key.length} bytes; expected ${KEY_BYTES} in base64`)
  return [name, key]
}

/** Options for `Client` and `Worker`: large payloads are compressed, and with a key all payloads are encrypted after that. */
export function dataConverterOptions(path: string | undefined): { readonly dataConverter: DataConverter } {
  const payloadConverterPath = EXACT_PAYLOADS
  if (path === undefined) return { dataConverter: { payloadConverterPath, payloadCodecs: [compressionCodec] } }
  const payloadCodecs = [compressionCodec, encryptionCodec(readPayloadKeys(path))]
  return { dataConverter: { payloadConverterPath, payloadCodecs, failureConverterPath: ENCRYPTED_FAILURES } }
}

export function encryptionCodec({ keys, encryptionKey = '' }: PayloadKeys): PayloadCodec {
  const key = keys.get(encryptionKey)
  return {
    encode: (payloads) =>
      Promise.resolve(key === undefined ? payloads : payloads.map((payload) => encrypt(payload, encryptionKey, key))),
    // Async, so that an error becomes a rejection.
    decode: async (payloads) => await Promise.resolve(payloads.map((payload) => decrypt(payload, keys))),
  }
}

const words = new TextEncoder()

function encrypt(payload: Payload, name: string, key: Buffer): Payload {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const encrypted = [cipher.update(PayloadMessage.encode(payload).finish()), cipher.final()]
  return {
    metadata: { encoding: words.encode(ENCODING), 'encryption-key-id': words.encode(name) },
    data: Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]),
  }
}

function decrypt(payload: Payload, keys: PayloadKeys['keys']): Payload {
  const { encoding, 'encryption-key-id': keyID } = payload.metadata ?? {}
  if (textOf(encoding) !== ENCODING) return payload
  const name = textOf(keyID)
  const key = keys.get(name)
  if (key === undefined)
    throw new Error(
      `a payload is encrypted by key ${name}; found ${[...keys.keys()].join(', ')}; expected this key in the file of --payload-key`,
    )
  const data = Buffer.from(payload.data ?? [])
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(data.subarray(data.length - TAG_BYTES))
  const decrypted = [decipher.update(data.subarray(NONCE_BYTES, data.length - TAG_BYTES)), decipher.final()]
  return PayloadMessage.decode(Buffer.concat(decrypted))
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes === null || bytes === undefined ? '' : Buffer.from(bytes).toString('utf8')
}
