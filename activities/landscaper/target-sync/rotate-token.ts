// Renews the token with which a TargetSync reads its source before it expires: the token of the ServiceAccount that the kubeconfig's user is named
// after.
// Source: spec/landscaper.md 1.9.

import type { TargetSync } from '../../../workflows/landscaper/target-sync/kind.ts'
import { readObject } from '../../kube/read-family.ts'
import { entriesOf, secretResource } from '../../kube/core-kinds.ts'
import { writeAll } from '../../kube/write.ts'
import { dataOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import { requestToken } from '../deploy/target/service-account.ts'
import { isObjectName } from '../deploy/target/target-config.ts'
import { KUBECONFIG_KEY, type Source, SyncProblem } from './source-entries.ts'
import type { Syncing } from './synced-objects.ts'
import { isFields } from '../../../workflows/kit/index.ts'

const EXPIRATION_SECONDS = 90 * 24 * 60 * 60

/** Writes a new token into the kubeconfig of the Secret. @throws SyncProblem; failures of both servers. */
export async function rotateToken(
  deps: LandscaperDeps,
  { subject, writer }: Syncing,
  { sourceNamespace, secretRef }: TargetSync['spec'],
  { cluster, signal }: Source,
): Promise<void> {
  const { namespace } = subject
  const { name, key = KUBECONFIG_KEY } = secretRef
  const at = `secret ${namespace}/${name}, key ${key}`
  const secret = await readObject(deps, secretResource, namespace, name)
  const before = secret === undefined ? '' : (entriesOf(secret)?.[key] ?? '')
  const { kubeconfig, user } = await soleUserIn(deps, subject, { at, before })
  const account = { namespace: sourceNamespace, name: user.name, expirationSeconds: EXPIRATION_SECONDS }
  const { token } = await requestToken(cluster.kube, account, signal)
  Object.assign(user.fields, { token })
  const after = Buffer.from(JSON.stringify(kubeconfig)).toString('base64')
  const [answer] = await writeAll(deps, writer, [
    {
      verb: 'patch',
      watched: secretResource,
      namespace,
      name,
      redacted: [after, token],
      version: secret?.metadata.resourceVersion ?? '',
      patch: { data: { [key]: after } },
      // A kubeconfig that another client has written meanwhile wins.
      reapply: (current) => (entriesOf(current)?.[key] === before ? { data: { [key]: after } } : 'superseded'),
    },
  ])
  if (answer?.result === 'failed') throw answer.error
  if (answer?.result !== 'ok') throw new SyncProblem(`${at}: found another one than was read; expected it to stay`)
}

interface SoleUser {
  readonly kubeconfig: unknown
  /** `fields` is a part of the kubeconfig. */
  readonly user: { readonly name: string; readonly fields: object }
}

async function soleUserIn(
  deps: LandscaperDeps,
  subject: Syncing['subject'],
  { at, before }: { readonly at: string; readonly before: string },
): Promise<SoleUser> {
  const read = await dataOf(deps, subject).document(Buffer.from(before, 'base64').toString('utf8'))
  const kubeconfig = 'value' in read ? structuredClone(read.value) : undefined
  const users: unknown = isFields(kubeconfig) ? kubeconfig['users'] : undefined
  const [user, ...others] = Array.isArray(users) ? (users as readonly unknown[]) : []
  if (others.length === 0 && isFields(user) && isFields(user['user']) && isName(user['name']))
    return { kubeconfig, user: { name: user['name'], fields: user['user'] } }
  throw new SyncProblem(`${at}: found no single user called like a ServiceAccount; expected one: its token is renewed`)
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && isObjectName(name)
}
