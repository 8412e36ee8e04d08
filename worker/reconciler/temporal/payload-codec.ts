// With a payload key nothing readable of objects leaves the process: what runs get, say and remember is sealed before it goes to Temporal, texts of failures too.
// What people search by stays readable: search attributes, and the names in workflow IDs.
//
//   P1. AES-256-GCM, a fresh nonce for each payload. The name of the key stands beside it.
//   P2. Keys rotate: the first of the file seals, all of them open. What is not sealed is taken as it is: it was there before the key.
//   P3. Nobody seals before all can open: a file that begins with the word `readable` opens with its keys and seals nothing.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common'
import proto from '@temporalio/proto'

import { modulePath } from '../../server/config.ts'
import { packingCodec } from './payload-size.ts'

/** Names of ours and of Temporal's samples, whose codecs open these payloads, given the key. */
const ENCODING = 'binary/encrypted'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const { Payload: PayloadMessage } = proto.temporal.api.common.v1

/** Payloads in which no integer loses a digit; in every bundle. */
export const EXACT_PAYLOADS = modulePath('reconciler/temporal/exact-payloads.ts')

/** What has to be in the bundle of the workflows beside a payload key. */
export const SEALED_FAILURES = modulePath('reconciler/temporal/encrypted-failures.ts')

export interface PayloadKeys {
  /** By name, in the order of the file; at least one. */
  readonly keys: ReadonlyMap<string, Buffer>
  /** Name of the key that seals; undefined: nothing is sealed (P3). */
  readonly sealing: string | undefined
}

/** Stands alone on the first line. */
const READABLE = 'readable'

/**
 * Reads a file of keys: a line for each, its name and 32 bytes in base64. The first one seals, unless the word `readable` stands before it.
 *
 * @throws with the path and the line, what was found and what was expected; never with a key.
 */
export function readPayloadKeys(path: string): PayloadKeys {
  const keys = new Map<string, Buffer>()
  let isReadable = false
  for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries()) {
    const where = `${path}, line ${index + 1}`
    const text = line.trim()
    if (text === '' || text.startsWith('#')) continue
    if (text === READABLE && keys.size === 0) {
      isReadable = true
      continue
    }
    const [name, key] = readKey(text, where)
    if (keys.has(name)) throw new Error(`${where}: found a second key ${name}, expected each name once`)
    keys.set(name, key)
  }
  if (keys.size === 0) throw new Error(`${path} has no key; expected a line with a name and 32 bytes in base64`)
  return { keys, sealing: isReadable ? undefined : [...keys.keys()][0] }
}

function readKey(text: string, where: string): readonly [name: string, key: Buffer] {
  const [name = '', encoded, ...rest] = text.split(/\s+/)
  if (encoded === undefined || rest.length > 0)
    throw new Error(
      `${where}: found ${1 + rest.length + (encoded === undefined ? 0 : 1)} words, expected a name and a key`,
    )
  const key = Buffer.from(encoded, 'base64')
  if (key.length !== KEY_BYTES)
    throw new Error(`${where}: found a key of ${key.length} bytes, expected ${KEY_BYTES} in base64`)
  return [name, key]
}

/** For `Client` and `Worker`: what is large is packed, and with a key sealed then. */
export function payloadConverter(path: string | undefined): { readonly dataConverter: DataConverter } {
  const payloadConverterPath = EXACT_PAYLOADS
  if (path === undefined) return { dataConverter: { payloadConverterPath, payloadCodecs: [packingCodec] } }
  const payloadCodecs = [packingCodec, sealingCodec(readPayloadKeys(path))]
  return { dataConverter: { payloadConverterPath, payloadCodecs, failureConverterPath: SEALED_FAILURES } }
}

export function sealingCodec({ keys, sealing = '' }: PayloadKeys): PayloadCodec {
  const key = keys.get(sealing)
  return {
    encode: (payloads) =>
      Promise.resolve(key === undefined ? payloads : payloads.map((payload) => seal(payload, sealing, key))),
    // Async, so that what cannot be opened is told as a rejection.
    decode: async (payloads) => await Promise.resolve(payloads.map((payload) => open(payload, keys))),
  }
}

const words = new TextEncoder()

function seal(payload: Payload, name: string, key: Buffer): Payload {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = [cipher.update(PayloadMessage.encode(payload).finish()), cipher.final()]
  return {
    metadata: { encoding: words.encode(ENCODING), 'encryption-key-id': words.encode(name) },
    data: Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]),
  }
}

function open(payload: Payload, keys: PayloadKeys['keys']): Payload {
  const { encoding, 'encryption-key-id': keyID } = payload.metadata ?? {}
  if (textOf(encoding) !== ENCODING) return payload
  const name = textOf(keyID)
  const key = keys.get(name)
  if (key === undefined)
    throw new Error(
      `a payload is sealed by key ${name}; found ${[...keys.keys()].join(', ')}, expected that key in the file`,
    )
  const data = Buffer.from(payload.data ?? [])
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(data.subarray(data.length - TAG_BYTES))
  const opened = [decipher.update(data.subarray(NONCE_BYTES, data.length - TAG_BYTES)), decipher.final()]
  return PayloadMessage.decode(Buffer.concat(opened))
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes === null || bytes === undefined ? '' : Buffer.from(bytes).toString('utf8')
}
