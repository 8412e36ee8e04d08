// Inserts values of Secrets into the input of an activity. The values leave this process only in requests to the API server.
//
//   F1. The subject is subscribed to the Secret before the Secret is read: if the bridge follows Secrets, a change or a missing Secret wakes the subject.
//   F2. References stay in the target's namespace. A cluster-scoped target names the namespace.
//   F3. No message contains a value.

import { type By, type SecretGap, type SecretKey, type Subject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { finalFailure, retryableFailure } from '../../kube/errors.ts'
import { readObject } from '../../kube/read-family.ts'
import { entriesOf, isSecret } from '../../kube/core-kinds.ts'
import { followedKind, nameOf } from './kinds.ts'
import { subscribeTo } from './send.ts'

/** The run and its subject. */
interface SecretsInput {
  readonly by: Pick<By, 'workflowID'>
  readonly subject: Subject
}

export interface Filled<Value> {
  readonly value: Value
  /** F3. The texts that messages must not contain. */
  readonly redacted: readonly string[]
}

const SECRETS = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }

/** @throws `SecretNotFound`: final if the creation of the Secret wakes the subject; `OtherNamespace` (final). */
export async function fillSecrets<Value>(
  deps: Deps,
  whose: SecretsInput,
  value: Value,
  gaps: readonly SecretGap[] = [],
): Promise<Filled<Value>> {
  if (gaps.length === 0) return { value, redacted: [] }
  const found = await readValues(deps, whose, gaps)
  const filled = structuredClone(value)
  for (const { at, parts } of gaps)
    setText(filled, at, parts.map((part) => (typeof part === 'string' ? part : textOf(found, part))).join(''))
  return { value: filled, redacted: textFormsOf([...found.values()]) }
}

// Shorter lines may occur in any message; redacting them would hide too much.
const MIN_LINE_LENGTH = 6

/**
 * The texts in which a value may occur in messages: whole, trimmed, by lines, quoted, URL-encoded, in base64. The longest first, so that redacting one
 * leaves no part of another.
 */
function textFormsOf(values: readonly Buffer[]): readonly string[] {
  const forms = values.flatMap((bytes) => {
    const text = bytes.toString('utf8')
    const lines = text.split(/\r?\n/).filter((line) => line.trim().length >= MIN_LINE_LENGTH)
    const plain = [text, text.trim(), ...lines, ...lines.map((line) => line.trim())]
    const quoted = plain.flatMap((one) => [JSON.stringify(one).slice(1, -1), encodeURIComponent(one)])
    return [...plain, ...quoted, bytes.toString('base64'), Buffer.from(text.trim()).toString('base64')]
  })
  return [...new Set(forms)].filter((form) => form.trim() !== '').sort((one, other) => other.length - one.length)
}

/** Converts `stringData` of a Secret to `data`, as the API server stores it. */
export function secretData({ stringData, ...object }: Readonly<Record<string, unknown>>) {
  if (!isSecret(object) || stringData === undefined) return undefined
  const entries = Object.entries(stringData as Readonly<Record<string, string | null>>)
  const inBase64 = (text: string | null) => (text === null ? null : Buffer.from(text).toString('base64'))
  const data = Object.fromEntries(entries.map(([key, text]) => [key, inBase64(text)]))
  return { ...object, data: { ...(object['data'] as object | undefined), ...data } }
}

async function readValues(
  deps: Deps,
  whose: SecretsInput,
  gaps: readonly SecretGap[],
): Promise<ReadonlyMap<string, Buffer>> {
  const keys = gaps.flatMap(({ parts }) => parts.filter((part) => typeof part !== 'string'))
  const read = keys.map(async (key) => [idOf(key), await readValue(deps, whose, key)] as const)
  return new Map(await Promise.all(read))
}

async function readValue(deps: Deps, whose: SecretsInput, of: SecretKey): Promise<Buffer> {
  const { secret, key, namespace = whose.subject.namespace } = of
  const who = nameOf(whose.subject.kind, whose.subject)
  const where = nameOf('Secret', { namespace, name: secret })
  if (namespace !== whose.subject.namespace && whose.subject.namespace !== '')
    throw finalFailure(
      'OtherNamespace',
      `${where}: found another namespace than that of ${who}, which needs its value; expected the same namespace`,
    )
  const watched = followedKind(deps, SECRETS)
  const isHeard = await subscribeTo(deps, whose, { watched, namespace, name: secret })
  const object = namespace === '' ? undefined : await readObject(deps, watched, namespace, secret)
  const entries = (object && entriesOf(object)) ?? {}
  const value = Object.hasOwn(entries, key) ? entries[key] : undefined
  if (value !== undefined) return Buffer.from(value, 'base64')
  const found = object === undefined ? 'does not exist' : `has no key ${key}`
  const message = `${where} ${found}; ${who} needs its value`
  throw isHeard ? finalFailure('SecretNotFound', message) : retryableFailure('SecretNotFound', message)
}

const idOf = ({ secret, key, namespace = '' }: SecretKey) => JSON.stringify([namespace, secret, key])

function textOf(found: ReadonlyMap<string, Buffer>, key: SecretKey): string {
  return found.get(idOf(key))?.toString('utf8') ?? ''
}

function setText(into: unknown, at: readonly (string | number)[], text: string): void {
  const parent = at.slice(0, -1).reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], into)
  const [last = ''] = at.slice(-1)
  ;(parent as Record<string, unknown>)[last] = text
}
