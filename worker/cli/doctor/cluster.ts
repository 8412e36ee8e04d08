// Checks the API server and the user's permissions there, for `pawl doctor`.

import type { KubeClient } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import { type GroupKind, groupKindOf, isSameGroupKind, type LevelTarget } from '../../../workflows/kit/index.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { type SteeredKind, steeredKinds } from '../steer/open-object.ts'
import { userName } from '../user.ts'
import { clockFinding, type Finding, type Right, rightsFinding } from './findings.ts'

const AT_ONCE = 5
const MOST_MS = 15_000
/** The Date header has whole seconds. */
const DATE_STEP_MS = 1000

/**
 * @param followed the kinds that a bridge follows; undefined if the journal does not answer. Then the kinds whose API group the cluster has are
 *   checked: kinds of wings that are off need no CRDs and no permissions.
 */
export async function clusterFindings(
  kube: KubeClient,
  namespace: string,
  followed: readonly GroupKind[] | undefined,
): Promise<readonly Finding[]> {
  const { server } = kube.connection
  try {
    const signal = AbortSignal.timeout(MOST_MS)
    const { version, clock } = await readVersion(kube, signal)
    const isReconciled = followed === undefined ? await installedGroups(kube, signal) : isIn(followed)
    const steered = steeredKinds().filter(isReconciled)
    const rights = await readRights(kube, namespace, wantedRights(steered), signal)
    return [
      { part: 'kubernetes', verdict: 'ok', text: `${version} at ${server} answers` },
      ...(clock === undefined ? [] : [clock]),
      await kindsFinding(
        kube,
        namespace,
        ownTargets().filter((target) => isReconciled(groupKindOf(target))),
      ),
      rightsFinding(rights, await userName(kube), namespace),
    ]
  } catch (error) {
    const text = `${server}: ${error instanceof Error ? error.message : String(error)}; check --context and your credentials`
    return [{ part: 'kubernetes', verdict: 'bad', text }]
  }
}

async function readVersion(kube: KubeClient, signal: AbortSignal) {
  const { gitVersion = 'unknown version' } = await kube.request<{ readonly gitVersion?: string }>('GET', '/version', {
    signal,
  })
  // A second request, because the first one includes the connection's set-up.
  const before = Date.now()
  const { headers, body } = await kube.stream('/version', signal)
  const after = Date.now()
  // Reads the short body, so that the connection can be reused.
  for await (const chunk of body) if (chunk.length === 0) break
  const at = Date.parse(String(headers['date'] ?? ''))
  const middle = (before + after) / 2
  const clock = Number.isNaN(at)
    ? undefined
    : clockFinding('of the API server', middle - at - DATE_STEP_MS / 2, after - before + DATE_STEP_MS)
  return { version: gitVersion, clock }
}

type IsReconciled = (kind: GroupKind) => boolean

function isIn(kinds: readonly GroupKind[]): IsReconciled {
  return (kind) => kinds.some((one) => isSameGroupKind(one, kind))
}

async function installedGroups(kube: KubeClient, signal: AbortSignal): Promise<IsReconciled> {
  const { groups } = await kube.request<{ readonly groups: readonly { readonly name: string }[] }>('GET', '/apis', {
    signal,
  })
  const names = new Set(groups.map(({ name }) => name))
  return ({ group }) => names.has(group)
}

/** The targets of Pawl's controllers, without kinds that belong to other programs. */
function ownTargets(): readonly LevelTarget[] {
  const targets: readonly LevelTarget[] = [...builtInRegistry.controllers.values()].map(({ target }) => target)
  return targets.filter(({ isReadOnly }) => isReadOnly !== true)
}

/** Checks that the CRDs are installed: lists one object of each kind. A kind that the user may not list counts as installed. */
async function kindsFinding(kube: KubeClient, namespace: string, targets: readonly LevelTarget[]): Promise<Finding> {
  const part = 'kinds'
  if (targets.length === 0)
    return { part, verdict: 'bad', text: 'no CRD of Pawl is installed; apply the CRDs of your wings from deploy/crds' }
  const missing: string[] = []
  for (const target of targets) {
    const path = resourcePath(target, target.withoutNamespace === true ? undefined : namespace)
    await kube.request('GET', path, { query: { limit: '1' } }).catch((error: unknown) => {
      if (!isNotFound(error)) return
      missing.push(target.kind)
    })
  }
  if (missing.length === 0)
    return { part, verdict: 'ok', text: `${targets.map(({ kind }) => kind).join(', ')} are installed` }
  return { part, verdict: 'bad', text: `${missing.join(', ')} are not installed; apply the CRDs of deploy/crds` }
}

async function readRights(
  kube: KubeClient,
  namespace: string,
  wanted: ReturnType<typeof wantedRights>,
  signal: AbortSignal,
): Promise<readonly Right[]> {
  return await inParallel(wanted, AT_ONCE, async ({ group, ...right }) => {
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, group, resource: right.resource, verb: right.verb } },
    }
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    const { status } = await kube.request<{ readonly status?: { readonly allowed?: boolean } }>('POST', path, {
      body,
      signal,
    })
    return { ...right, isAllowed: status?.allowed === true }
  })
}

/** The permissions that the steering commands need. */
function wantedRights(kinds: readonly SteeredKind[]) {
  const rights = kinds.flatMap(({ group, api, steering }) => [
    { group, resource: api.plural, verb: 'get', serves: 'all steering commands' },
    { group, resource: api.plural, verb: 'list', serves: 'delete, retry, skip' },
    {
      group,
      resource: api.plural,
      verb: 'patch',
      serves: steering.interrupt === undefined ? 'delete --force' : 'reconcile, interrupt',
    },
    { group, resource: api.plural, verb: 'delete', serves: 'delete' },
  ])
  return [...rights, { group: '', resource: 'events', verb: 'create', serves: 'delete --force' }]
}
