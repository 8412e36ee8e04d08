// Tests a controller whose worker may not read the Secrets that its actions read, at a real API server. Only these actions fail, with kind, verb and
// object; other actions and deletions continue. The error ends when the worker gets the permission. Source: docs/reference/level-mode.md "What a pass
// gets", docs/guides/controller-roles.md.

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'

import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { crdDocument } from '../../worker/gen/crd.ts'
import { genRbac } from '../../worker/gen/rbac-file.ts'
import { makeAccount } from '../support/rights/accounts.ts'
import { depotKind } from '../support/level/depot.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'forbidden-state'
const MODULE = new URL('../support/level/depot.ts', import.meta.url).pathname
const ROLE = { apiVersion: 'rbac.authorization.k8s.io/v1', plural: 'roles' }
const WORKER_ROLE = 'pawl-worker-depot'
const SECRETS = { apiVersion: 'v1', plural: 'secrets' }
const WAIT = { timeout: 60_000, interval: 100 }
const run = promisify(execFile)

const stage = useStage(NAMESPACE, async () => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const { kube } = stage.cluster
  await kube.request('POST', definitions, { body: parse(crdDocument(depotKind)) as object })
  await vi.waitFor(async () => await kube.request('GET', pathOf(depotKind)), WAIT)
  const workerKubeconfig = await makeAccount(stage.servers, stage.cluster, 'pawl-worker')
  await applyRoles()
  await setRules((rules) => rules.filter(({ resources }) => !resources.includes('secrets')))
  return { controllers: MODULE, workerKubeconfig, workerFlags: ['--wings', 'none'], bridgeFlags: ['--wings', 'none'] }
})

beforeAll(async () => {
  const labels = { depot: 'one' }
  for (const metadata of [{ name: 'token' }, { name: 'other', labels }])
    await create(SECRETS, { metadata, stringData: { key: 'value' } })
})

const user = `User "system:serviceaccount:${NAMESPACE}:pawl-worker"`
const where = `resource "secrets" in API group "" in the namespace "${NAMESPACE}"`

describe('a state that the worker may not read', () => {
  it('fails only the actions that read it, with kind, verb and object in the message; other actions continue', async () => {
    await createDepot('one')
    await vi.waitFor(async () => expect(await ready('one')).toMatchObject({ reason: 'Forbidden' }), WAIT)
    const { message } = await ready('one')
    expect(message).toContain(`secrets "token" is forbidden: ${user} cannot get ${where}`)
    expect(message).toContain(`secrets is forbidden: ${user} cannot list ${where}`)
    // What a pass has said stands before all that it has done is done, and journaled.
    await vi.waitFor(async () => {
      expect(await find({ apiVersion: 'v1', plural: 'configmaps' }, 'one')).toMatchObject({
        metadata: { ownerReferences: [{ kind: 'Depot', name: 'one' }] },
      })
      const { last_error, outcome } = await rowOf('one')
      expect([last_error, outcome]).toEqual([{ reason: 'Forbidden', message }, null])
    }, WAIT)
  })

  it('does not block a deletion', async () => {
    await createDepot('going')
    await vi.waitFor(async () => expect(await ready('going')).toMatchObject({ reason: 'Forbidden' }), WAIT)
    await stage.cluster.kube.request('DELETE', pathOf(depotKind, 'going'))
    await vi.waitFor(async () => expect(await find(depotKind, 'going')).toBeUndefined(), WAIT)
    await vi.waitFor(async () => expect((await rowOf('going')).outcome).toBe('Deleted'), WAIT)
  })

  it('is read without a restart as soon as the worker has the permission', async () => {
    await applyRoles()
    await vi.waitFor(async () => expect(await ready('one')).toMatchObject({ status: 'True' }), WAIT)
    expect((await find(depotKind, 'one'))?.['status']).toMatchObject({ keys: 1, others: 1 })
    await vi.waitFor(
      async () => expect(await rowOf('one')).toMatchObject({ outcome: 'Converged', last_error: null }),
      WAIT,
    )
  })
})

type Resource = Parameters<typeof resourcePath>[0]

function pathOf(resource: Resource, name?: string): string {
  return resourcePath(resource, NAMESPACE, name)
}

async function create(resource: Resource, body: object): Promise<void> {
  await stage.cluster.kube.request('POST', pathOf(resource), { body })
}

async function createDepot(name: string): Promise<void> {
  const { apiVersion, kind } = depotKind
  await create(depotKind, { apiVersion, kind, metadata: { name }, spec: { token: 'token' } })
}

async function find(resource: Resource, name: string): Promise<KubeObject | undefined> {
  try {
    return await stage.cluster.kube.request<KubeObject>('GET', pathOf(resource, name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

interface Ready {
  readonly status?: string
  readonly reason?: string
  readonly message?: string
}

async function ready(name: string): Promise<Ready> {
  const status = (await find(depotKind, name))?.['status'] as { conditions?: readonly Ready[] } | undefined
  return status?.conditions?.[0] ?? {}
}

async function rowOf(name: string) {
  return await stage.pawl.db.selectFrom('job').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
}

interface Rule {
  readonly resources: readonly string[]
}

/** As `pawl gen rbac` writes them, bound to the account. */
async function applyRoles(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-roles-'))
  try {
    const out = join(folder, 'rbac.yaml')
    const said: string[] = []
    const keep = (line: string) => said.push(line)
    const asked = { files: [MODULE], name: undefined, namespaces: [NAMESPACE], accounts: NAMESPACE }
    expect(await genRbac({ ...asked, out, check: false, print: keep, complain: keep })).toBe(0)
    const { kubectlPath, kubeconfigPath } = stage.servers
    await run(kubectlPath, [
      '--kubeconfig',
      kubeconfigPath,
      '-n',
      NAMESPACE,
      'apply',
      '--server-side',
      '--force-conflicts',
      '-f',
      out,
    ])
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function setRules(change: (rules: readonly Rule[]) => readonly Rule[]): Promise<void> {
  const { kube } = stage.cluster
  const { rules } = await kube.request<{ rules: readonly Rule[] }>('GET', pathOf(ROLE, WORKER_ROLE))
  const body = { rules: change(rules) }
  expect(body.rules.length).toBeLessThan(rules.length)
  await kube.request('PATCH', pathOf(ROLE, WORKER_ROLE), { body, contentType: 'application/merge-patch+json' })
}
