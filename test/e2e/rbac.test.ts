// The examples with ServiceAccounts that have only the roles of `pawl gen rbac`, and the reports of a missing permission.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { describe, expect, it, vi } from 'vitest'

import { genRbac } from '../../worker/gen/rbac-file.ts'
import { makeAccount } from '../support/rights/accounts.ts'
import { useStage } from '../support/pawl/stage.ts'

const EXAMPLES = new URL('../../examples/', import.meta.url).pathname
const CONTROLLERS = ['cronjob', 'app'].map((example) => `${EXAMPLES}${example}/controllers.ts`)
const NAMESPACE = 'rbac'
const KIND = 'cronjobs.batch.example.pawl.dev'
const APPS = 'apps.app.example.pawl.dev'
const run = promisify(execFile)

const stage = useStage(NAMESPACE, async () => {
  const manifests = ['cronjob/cron-job.crd.yaml', 'app/app.crd.yaml', 'cronjob/rbac.yaml', 'app/rbac.yaml']
  await kubectl('apply', '--server-side', ...manifests.flatMap((file) => ['-f', `${EXAMPLES}${file}`]))
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', `crd/${KIND}`, `crd/${APPS}`)
  const [bridgeKubeconfig = '', workerKubeconfig = ''] = await Promise.all(
    ['pawl-bridge', 'pawl-worker'].map((name) => makeAccount(stage.servers, stage.cluster, name)),
  )
  await bindClusterRoles()
  const flags = ['--wings', 'none']
  return {
    controllers: CONTROLLERS.join(','),
    bridgeKubeconfig,
    workerKubeconfig,
    bridgeFlags: flags,
    workerFlags: flags,
  }
})

describe('the App example with its generated roles', () => {
  const spec = { image: 'shop:1', replicas: 2, settings: { GREETING: 'hello', OLD: 'yes' } }
  const change = async (body: object) =>
    await kubectl('patch', APPS, 'shop', '--type=merge', '-p', JSON.stringify({ spec: body }))
  const podsOf = async () =>
    (await kubectl('get', 'pods', '-l', 'app.kubernetes.io/name=shop', '-o', 'name')).split('\n')

  it('becomes ready', async () => {
    await postApp()
    await ready('RolledOut')
    expect(await kubectl('get', APPS, 'shop', '-o=jsonpath={.spec.port} {.status.readyReplicas}')).toBe('8080 2')
    const address = await kubectl(
      'get',
      'service',
      'shop',
      '-o=jsonpath={.spec.ports[0].port} {.spec.ports[0].targetPort}',
    )
    expect(address).toBe('80 8080')
    const events = ['events', '--field-selector=reason=RolledOut', '-o=jsonpath={.items[*].type} {.items[*].message}']
    await vi.waitFor(
      async () => expect(await kubectl('get', ...events)).toBe('Normal 2 of 2 Pods are up to date and ready'),
      { timeout: 60_000, interval: 300 },
    )
  })

  it('replaces its Pods when its settings change, and recreates its Service when a user deletes the Service', async () => {
    const before = await podsOf()
    await change({ settings: { GREETING: 'bye', OLD: null } })
    await vi.waitFor(
      async () => expect((await podsOf()).filter((pod) => pod !== '' && before.includes(pod))).toEqual([]),
      { timeout: 60_000, interval: 300 },
    )
    await ready('RolledOut')
    expect(JSON.parse(await kubectl('get', 'configmap', 'shop', '-o=jsonpath={.data}'))).toEqual({ GREETING: 'bye' })
    await kubectl('delete', 'service', 'shop')
    await vi.waitFor(async () => expect(await kubectl('get', 'services', '-o', 'name')).toContain('service/shop'), {
      timeout: 30_000,
      interval: 300,
    })
    await kubectl('delete', APPS, 'shop')
  })

  async function postApp(): Promise<void> {
    const body = { apiVersion: 'app.example.pawl.dev/v1', kind: 'App', metadata: { name: 'shop' }, spec }
    await post(`/apis/${body.apiVersion}/namespaces/${NAMESPACE}/apps`, body)
  }

  async function ready(reason: string): Promise<void> {
    const path = "-o=jsonpath={.status.conditions[?(@.type=='Ready')].reason}"
    const look = async () => expect(await kubectl('get', APPS, 'shop', path)).toBe(reason)
    await vi.waitFor(look, { timeout: 60_000, interval: 300 })
  }
})

describe('the CronJob example with its generated roles', () => {
  it('creates its Job, and sends no request that the API server forbids', async () => {
    await create('allowed')
    await served('allowed')
    expect(await refused()).toEqual([])
  })

  it('creates its Job also with Roles in one namespace', async () => {
    await kubectl('delete', 'clusterrolebindings', ...bindings().map(({ name }) => name))
    await applyRoles()
    await stage.pawl.kill('bridge')
    await stage.pawl.startBridge()
    await create('here')
    await served('here')
  })

  it('reports the permission that the worker lacks in the journal and in an Event, and continues when the permission is granted', async () => {
    await editRole('pawl-worker-examples', (verbs) => verbs.filter((verb) => verb !== 'create'))
    await create('forbidden')
    const lacks = 'cannot create resource "jobs" in API group "batch" in the namespace "rbac"'
    await vi.waitFor(async () => expect(await lastError('forbidden')).toContain(lacks), { timeout: 60_000 })
    const events = async () => await kubectl('get', 'events', '-o', 'json', '--field-selector=reason=Forbidden')
    const inJSON = JSON.stringify(lacks).slice(1, -1)
    await vi.waitFor(async () => expect(await events()).toContain(inJSON), { timeout: 60_000, interval: 300 })
    await applyRoles()
    await served('forbidden')
  })

  it('reports the permission that the bridge lacks in the log of the bridge', async () => {
    await editRole('pawl-bridge-examples', () => ['get'])
    await stage.pawl.kill('bridge')
    await stage.pawl.startBridge()
    const lacks = /jobs\.batch is forbidden: User .*:pawl-bridge.* cannot (?:list|watch) resource/
    await vi.waitFor(() => expect(stage.pawl.log('bridge')).toMatch(lacks), { timeout: 30_000 })
    await applyRoles()
  })
})

async function kubectl(...args: readonly string[]): Promise<string> {
  const { kubectlPath, kubeconfigPath } = stage.servers
  return (await run(kubectlPath, ['--kubeconfig', kubeconfigPath, '-n', NAMESPACE, ...args])).stdout
}

async function post(path: string, body: object): Promise<unknown> {
  return await stage.cluster.kube.request('POST', path, { body })
}

function bindings(): readonly { readonly account: string; readonly name: string }[] {
  return ['pawl-bridge', 'pawl-worker'].flatMap((account) =>
    ['cron-job', 'app'].map((example) => ({ account, name: `${account}-${example}` })),
  )
}

async function bindClusterRoles(): Promise<void> {
  for (const { account, name } of bindings()) {
    const binding = ['clusterrolebinding', name, `--clusterrole=${name}`, `--serviceaccount=${NAMESPACE}:${account}`]
    await kubectl('create', ...binding)
  }
}

/** The same as Roles of this namespace, bound, whole. */
async function applyRoles(): Promise<void> {
  const out = join(await mkdtemp(join(tmpdir(), 'pawl-rbac-')), 'rbac.yaml')
  const said: string[] = []
  const keep = (line: string) => said.push(line)
  const files = CONTROLLERS
  const asked = { name: 'examples', namespaces: [NAMESPACE], accounts: NAMESPACE }
  expect(await genRbac({ files, ...asked, out, check: false, print: keep, complain: keep })).toBe(0)
  await kubectl('apply', '-f', out)
}

/** Changes what a Role lets do with Jobs. */
async function editRole(name: string, change: (verbs: readonly string[]) => readonly string[]): Promise<void> {
  const role = JSON.parse(await kubectl('get', 'role', name, '-o', 'json')) as {
    rules: { resources: string[]; verbs: readonly string[] }[]
  }
  const rules = role.rules.map((rule) =>
    rule.resources.includes('jobs') ? { ...rule, verbs: change(rule.verbs) } : rule,
  )
  await kubectl('patch', 'role', name, '--type=merge', '-p', JSON.stringify({ rules }))
}

/** Creates a CronJob that starts one Job now, for the beginning of this year. */
async function create(name: string): Promise<void> {
  const schedule = '0 0 1 1 *'
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } }
  await post(`/apis/batch.example.pawl.dev/v1/namespaces/${NAMESPACE}/cronjobs`, {
    apiVersion: 'batch.example.pawl.dev/v1',
    kind: 'CronJob',
    metadata: { name },
    spec: { schedule, jobTemplate: { spec: { suspend: true, template } } },
  })
  const lastScheduleTime = '2020-06-01T00:00:00Z'
  await kubectl(
    'patch',
    KIND,
    name,
    '--type=merge',
    '--subresource=status',
    '-p',
    JSON.stringify({ status: { lastScheduleTime } }),
  )
}

/** Waits until the Job of the CronJob is made and its status says so. */
async function served(name: string): Promise<void> {
  const options = { timeout: 60_000, interval: 200 }
  await vi.waitFor(async () => expect(await jobsOf(name)).toHaveLength(1), options)
  const active = async () => await kubectl('get', KIND, name, '-o=jsonpath={.status.active[*].name}')
  await vi.waitFor(async () => expect(await active()).toMatch(/./), options)
}

async function jobsOf(name: string): Promise<readonly string[]> {
  const found = await kubectl('get', 'jobs', '-l', `cronjob=${name}`, '-o', 'name')
  return found.split('\n').filter((line) => line !== '')
}

async function lastError(name: string): Promise<string> {
  const { db } = stage.pawl
  const rows = await db.selectFrom('job').select('last_error').where('name', '=', name).execute()
  return JSON.stringify(rows).replaceAll('\\"', '"')
}

/** What the API server forbade the accounts, by its audit log. */
async function refused(): Promise<readonly string[]> {
  const lines = (await readFile(stage.servers.auditLogPath, 'utf8')).split('\n')
  return lines
    .filter(
      (line) => line.includes(`"username":"system:serviceaccount:${NAMESPACE}:pawl-`) && line.includes('"code":403'),
    )
    .map((line) => /"requestURI":"([^"]*)"/.exec(line)?.[1] ?? line)
}
