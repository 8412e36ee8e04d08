// Stores the webhook's certificates: in a Secret that the webhook processes share and renew, or in a folder that
// another program renews.
//
//   S1. The Secret is updated with the resourceVersion that was read. If several processes renew at the same time, one
//       update succeeds, and the others use its result.
//   S2. A Secret of this name without the webhook's label is never changed.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../activities/kube/errors.ts'
import { entriesOf, secretResource } from '../../activities/kube/core-kinds.ts'
import {
  type Certificates,
  bundleOf,
  isComplete,
  type Pair,
  renewCertificates,
  type CertificateOptions,
} from './certificates.ts'
import type { SecretOrServiceName } from './flags.ts'

/** The certificate that the server uses, and the CA bundle of the configuration. PEM. */
export interface ServedCertificates {
  readonly serving: Pair
  readonly bundle: string
}

/** @returns the certificates that are valid at this time. */
export type CertificateStore = (now: number) => Promise<ServedCertificates>

const MANAGED_BY = 'app.kubernetes.io/managed-by'
const OURS = 'pawl-webhook'
// After a conflict the next read returns the certificates of another process.
const MAX_TRIES = 5

export function secretStore(
  kube: KubeClient,
  place: SecretOrServiceName,
  options: CertificateOptions,
): CertificateStore {
  return async (now) => {
    for (let tries = 1; ; tries++) {
      const secret = await read(kube, place)
      const stored = secret && certificatesIn(secret, place)
      const certificates = await renewCertificates(stored, options, now)
      try {
        if (certificates !== stored) await write(kube, place, certificates, secret)
        return { serving: certificates.serving, bundle: bundleOf(certificates) }
      } catch (error) {
        if (tries === MAX_TRIES || !(isConflict(error) || isAlreadyExists(error))) throw error
      }
    }
  }
}

export function folderStore(dir: string): CertificateStore {
  return async () => {
    const [certificate, key, bundle] = await Promise.all(
      ['tls.crt', 'tls.key', 'ca.crt'].map(async (name) => await readFile(join(dir, name), 'utf8')),
    )
    return { serving: { certificate: certificate ?? '', key: key ?? '' }, bundle: bundle ?? '' }
  }
}

async function read(kube: KubeClient, { namespace, name }: SecretOrServiceName): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', resourcePath(secretResource, namespace, name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/**
 * Undefined if the Secret has no readable certificates. @throws an Error for a Secret without the webhook's label (S2).
 */
function certificatesIn(secret: KubeObject, { namespace, name }: SecretOrServiceName): Certificates | undefined {
  if (secret.metadata.labels?.[MANAGED_BY] !== OURS)
    throw new Error(
      `Secret ${namespace}/${name} has no label ${MANAGED_BY}=${OURS}, so it does not belong to the webhook; delete it, or choose another name with --certificate-secret`,
    )
  const text = (key: string) => Buffer.from(entriesOf(secret)?.[key] ?? '', 'base64').toString('utf8')
  const [authorities, keys] = [blocksIn(text('ca.crt')), blocksIn(text('ca.key'))]
  const stored = {
    authorities: authorities.map((certificate, index) => ({ certificate, key: keys[index] ?? '' })),
    serving: { certificate: text('tls.crt'), key: text('tls.key') },
  }
  return isComplete(stored) ? stored : undefined
}

function blocksIn(pem: string): readonly string[] {
  return pem.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? []
}

async function write(
  kube: KubeClient,
  { namespace, name }: SecretOrServiceName,
  certificates: Certificates,
  before: KubeObject | undefined,
): Promise<void> {
  const { authorities, serving } = certificates
  const texts = {
    'ca.crt': bundleOf(certificates),
    'ca.key': authorities.map(({ key }) => `${key.trim()}\n`).join(''),
    'tls.crt': serving.certificate,
    'tls.key': serving.key,
  }
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  )
  if (before === undefined) {
    const metadata = { name, labels: { [MANAGED_BY]: OURS } }
    const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, data }
    await kube.request('POST', resourcePath(secretResource, namespace), { body })
    return
  }
  const { uid, resourceVersion } = before.metadata
  await kube.request('PATCH', resourcePath(secretResource, namespace, name), {
    body: { metadata: { uid, resourceVersion }, data },
    contentType: 'application/merge-patch+json',
  })
}
