// Checks the API server and the user's permissions there, for `pawl doctor`.

import type { KubeClient } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { inParallel } from '../../../activities/kube/in-parallel.ts'
import type { SteeredKind } from '../steer/open-object.ts'
import { userName } from '../user.ts'
import { clockFinding, type Finding, type Right, rightsFinding } from './findings.ts'

const AT_ONCE = 5
const MOST_MS = 15_000
/** The Date header has whole seconds. */
const DATE_STEP_MS = 1000

/** @param kinds the kinds that Pawl reconciles in the cluster. */
export async function clusterFindings(
  kube: KubeClient,
  namespace: string,
  kinds: readonly SteeredKind[],
): Promise<readonly Finding[]> {
  const { server } = kube.connection
  try {
    const signal = AbortSignal.timeout(MOST_MS)
    const { version, clock } = await readVersion(kube, signal)
    const rights = await readRights(kube, namespace, wantedRights(kinds), signal)
    return [
      { part: 'kubernetes', verdict: 'ok', text: `${version} at ${server} answers` },
      ...(clock === undefined ? [] : [clock]),
      await kindsFinding(kube, namespace, kinds, rights),
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

/** Checks that the CRDs are installed: lists one object of each kind that the user may list. */
async function kindsFinding(
  kube: KubeClient,
  namespace: string,
  kinds: readonly SteeredKind[],
  rights: readonly Right[],
): Promise<Finding> {
  const missing: string[] = []
  for (const { kind, api } of kinds) {
    const mayList = rights.some(
      ({ verb, resource, isAllowed }) => verb === 'list' && resource === api.plural && isAllowed,
    )
    if (!mayList) continue
    const answer = await kube
      .request('GET', resourcePath(api, namespace), { query: { limit: '1' } })
      .catch(() => undefined)
    if (answer === undefined) missing.push(kind)
  }
  if (missing.length === 0) return { part: 'kinds', verdict: 'ok', text: 'all kinds that you may list are installed' }
  const text = `${missing.join(', ')} cannot be listed; apply the CRDs of deploy/crds`
  return { part: 'kinds', verdict: 'bad', text }
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
