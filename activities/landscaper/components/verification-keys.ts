// Reads the keys of a Context for a signature. Source: spec/landscaper.md 1.7.
//
//   K1. Only Secrets in the Context's namespace are read: the author of a Context must not use, or learn about, Secrets of other namespaces.

import type { Context } from '../../../workflows/landscaper/context/kind.ts'
import { entriesOf, secretResource } from '../../kube/core-kinds.ts'
import { readObject } from '../../kube/read-family.ts'
import type { LandscaperDeps } from '../deps.ts'
import { BlueprintError } from '../render/render-errors.ts'
import type { TrustedKeys } from './verify-signature.ts'

type Named = NonNullable<NonNullable<Context['verificationSignatures']>[string]['publicKeySecretReference']>

const FIELDS = ['publicKeySecretReference', 'caCertificateSecretReference'] as const

/**
 * @param named the Context's name; the Context may not exist.
 * @throws BlueprintError with the field of the Context and the problem; retryable failures of the API server.
 */
export async function keysOf(
  deps: LandscaperDeps,
  namespace: string,
  { context, named, signatureName }: { context: Context | undefined; named: string; signatureName: string },
): Promise<TrustedKeys> {
  const signatures = context?.verificationSignatures ?? {}
  const place = `context ${namespace}/${named}: verificationSignatures.${signatureName.slice(0, 100)}`
  const found = Object.hasOwn(signatures, signatureName) ? signatures[signatureName] : undefined
  const [publicKey, authority] = FIELDS.map((field) => found?.[field])
  if (publicKey === undefined && authority === undefined)
    throw invalid(`${place}: found no key, expected ${FIELDS.join(' or ')}`)
  return {
    publicKey: publicKey && (await keyIn(deps, namespace, publicKey, `${place}.${FIELDS[0]}`)),
    authorities: authority && (await keyIn(deps, namespace, authority, `${place}.${FIELDS[1]}`)),
  }
}

async function keyIn(deps: LandscaperDeps, namespace: string, { name, namespace: at, key }: Named, place: string) {
  if (at !== undefined && at !== '' && at !== namespace)
    throw invalid(`${place}: found the namespace ${at.slice(0, 100)}, expected that of the context, or none`)
  const where = `${place}: secret ${namespace}/${name}`
  const secret = /^[a-z0-9.-]+$/.test(name) ? await readObject(deps, secretResource, namespace, name) : undefined
  if (secret === undefined) throw invalid(`${where}: it is not there, expected it`)
  const packed = entryOf(entriesOf(secret) ?? {}, key ?? '', where)
  return { pem: Buffer.from(packed, 'base64').toString('utf8'), place: `secret ${namespace}/${name}` }
}

/** Without a key: the only entry. */
function entryOf(entries: Readonly<Record<string, string>>, key: string, where: string): string {
  const keys = Object.keys(entries)
  if (key === '' && keys.length !== 1)
    throw invalid(`${where}: found ${keys.length} keys, expected one, or its name in key`)
  const wanted = key === '' ? (keys[0] ?? '') : key
  const found = Object.hasOwn(entries, wanted) ? entries[wanted] : undefined
  if (found === undefined) throw invalid(`${where}: found no key ${wanted.slice(0, 100)}, expected one`)
  return found
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
