// The webhook on a real API server: the writes that it refuses, its messages, the writes that pass while it is down,
// and its certificates.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'

import { KubeError } from '../../activities/kube/errors.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { API, FINALIZER, type LsObject } from '../support/cluster/cluster.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'
import { deniedTo } from '../support/rights/rights-audit.ts'

const SKIP = { 'validation.landscaper.gardener.cloud/skip-validation': 'true' }
const MOCK = {
  type: 'landscaper.gardener.cloud/mock',
  config: { apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1', kind: 'ProviderConfiguration' },
}
const CYCLE = [
  { ...MOCK, name: 'a', dependsOn: ['c'] },
  { ...MOCK, name: 'b', dependsOn: ['a'] },
  { ...MOCK, name: 'c', dependsOn: ['b'] },
]
const BOTH = { type: 'x', config: {}, secretRef: { name: 'x' } }

let stage: WebhookStage
const PLURALS = { Execution: 'executions', DeployItem: 'deployitems', Target: 'targets', Installation: 'installations' }

async function create(kind: keyof typeof PLURALS, name: string, spec: object, more: object = {}): Promise<LsObject> {
  const object = { apiVersion: API, kind, metadata: { name, ...more }, spec }
  return await stage.cluster.create(object, PLURALS[kind])
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof KubeError) return error.message
  throw new Error('it was not refused', { cause: error })
}

beforeAll(async () => {
  stage = await WebhookStage.open(inject('servers'), 'webhook')
  await stage.start('one')
  await untilAsked(true)
}, 240_000)
afterAll(() => stage.close())

describe('the webhook refuses', () => {
  it('a dependency cycle, and names its path', async () => {
    expect(await refusalOf(create('Execution', 'cyclic', { deployItems: CYCLE }))).toMatch(/spec\.deployItems/)
    const { stderr } = await kubectlApply('cyclic', { deployItems: CYCLE })
    expect(stderr).toContain(
      'spec.deployItems: Invalid value: found items that depend on each other: a -> c -> b -> a, expected an order in which they can run',
    )
  })

  it('a cycle in compressed deploy items, and in an inline blueprint', async () => {
    const deployItemsCompressed = gzipSync(JSON.stringify(CYCLE)).toString('base64')
    expect(await refusalOf(create('Execution', 'packed', { deployItemsCompressed }))).toContain(
      'spec.deployItemsCompressed',
    )
    const handing = (name: string, takes: string, gives: string) => {
      const data = (dataRef: string) => ({ data: [{ name: dataRef, dataRef }] })
      return { name, imports: data(takes), exports: data(gives) }
    }
    const subinstallations = [handing('a', 'x', 'y'), handing('b', 'y', 'z'), handing('c', 'z', 'x')]
    const filesystem = { 'blueprint.yaml': JSON.stringify({ subinstallations }) }
    const { stderr } = await kubectlApply('ring', { blueprint: { inline: { filesystem } } }, 'Installation')
    expect(stderr).toMatch(/spec\.blueprint\.inline: .*(?:a -> c -> b -> a|b -> a -> c -> b|c -> b -> a -> c)/)
  })

  it('a Target with both config and secretRef', async () => {
    expect(await refusalOf(create('Target', 'both', BOTH))).toContain(
      'denied the request: spec: found config and secretRef',
    )
  })

  it('an invalid change of the spec, but not other changes of an invalid object', async () => {
    await create('Target', 'skipped', BOTH, { labels: SKIP })
    await stage.cluster.patch('targets', 'skipped', { metadata: { labels: { [Object.keys(SKIP)[0] ?? '']: null } } })
    await stage.cluster.patch('targets', 'skipped', { metadata: { labels: { other: 'x' } } })
    expect(await refusalOf(stage.cluster.patch('targets', 'skipped', { spec: { type: 'y' } }))).toContain('422')
    await stage.cluster.patch('targets', 'skipped', { spec: { secretRef: null } })
  })

  it('no object with the skip-validation label', async () => {
    await create('Execution', 'labelled', { deployItems: CYCLE }, { labels: SKIP })
  })

  it('no object of another namespace', async () => {
    const body = { apiVersion: API, kind: 'Target', metadata: { name: 'both' }, spec: BOTH }
    await stage.home.create(body, 'targets')
  })
})

describe('the CRD schema, without the webhook,', () => {
  it('refuses a change of the type of a DeployItem; an item with an empty type is stored and can be deleted', async () => {
    const item = (name: string, type: string) => ({
      apiVersion: API,
      kind: 'DeployItem',
      metadata: { name, finalizers: [FINALIZER] },
      spec: { ...MOCK, type },
    })
    await stage.home.create(item('kept', ''), 'deployitems')
    expect(await refusalOf(stage.home.patch('deployitems', 'kept', { spec: { type: 'b' } }))).toContain('spec.type')
    await stage.home.patch('deployitems', 'kept', { spec: { timeout: '1m' } })
    await stage.home.delete('deployitems', 'kept')
    await stage.home.patch('deployitems', 'kept', { status: { phase: 'Deleting' } }, 'status')
    await stage.home.patch('deployitems', 'kept', { metadata: { finalizers: null } })
    expect(await stage.home.get('deployitems', 'kept')).toBeUndefined()
  })
})

describe('the webhook', () => {
  it('needs no right that its roles do not have', async () => {
    expect(await deniedTo(inject('servers').auditLogPath, `system:serviceaccount:${stage.home.namespace}`)).toEqual([])
  })

  it('keeps foreign entries of its configuration, and restores its own', async () => {
    const { kube } = stage.cluster
    const { webhooks } = await kube.request<{ webhooks: { name: string; timeoutSeconds: number }[] }>(
      'GET',
      stage.configurationPath,
    )
    const [first] = webhooks
    if (first === undefined) throw new Error('the configuration has no entry')
    const foreign = { ...first, name: 'others.example.org', failurePolicy: 'Ignore', rules: [] }
    await kube.request('PATCH', stage.configurationPath, {
      body: {
        metadata: { labels: { theirs: 'yes' } },
        webhooks: [foreign, ...webhooks.map((one) => ({ ...one, timeoutSeconds: 1 }))],
      },
      contentType: 'application/merge-patch+json',
    })
    await stage.stop('one')
    await stage.start('one', ['--timeout', '2s'])
    const now = await kube.request<KubeObject & { webhooks: { name: string; timeoutSeconds: number }[] }>(
      'GET',
      stage.configurationPath,
    )
    expect(now.metadata.labels).toEqual({ theirs: 'yes' })
    expect(now.webhooks.map(({ name, timeoutSeconds }) => [name, timeoutSeconds])).toEqual([
      ['others.example.org', first.timeoutSeconds],
      ...webhooks.map(({ name }) => [name, 2]),
    ])
  })

  it('blocks only new objects and spec changes while it is down; deletions and operation annotations pass', async () => {
    await create('DeployItem', 'leaving', MOCK, { finalizers: [FINALIZER] })
    // Large, because the match conditions compare the old and the new spec, whose CEL cost the API server limits.
    const large = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, { of: [`${index}`] }]),
    )
    await create('DeployItem', 'held', { ...MOCK, config: { ...MOCK.config, large } }, { finalizers: [FINALIZER] })
    await stage.stop('one', 'SIGKILL')
    expect(await refusalOf(create('DeployItem', 'coming', MOCK))).toContain('failed calling webhook')
    const edit = { spec: { timeout: '1m' } }
    expect(await refusalOf(stage.cluster.patch('deployitems', 'held', edit))).toContain('failed calling webhook')
    const metadata = { annotations: { [OPERATION_ANNOTATION]: 'reconcile' }, labels: { a: 'b' } }
    await stage.cluster.patch('deployitems', 'held', { metadata })
    await stage.cluster.patch('deployitems', 'held', { metadata: { finalizers: null } })
    await stage.cluster.delete('deployitems', 'held')
    expect(await stage.cluster.get('deployitems', 'held')).toBeUndefined()
    await stage.cluster.delete('deployitems', 'leaving')
    await stage.cluster.patch('deployitems', 'leaving', { status: { phase: 'Deleting' } }, 'status')
    await stage.cluster.patch('deployitems', 'leaving', { metadata: { finalizers: null } })
    expect(await stage.cluster.get('deployitems', 'leaving')).toBeUndefined()
  })

  it('blocks nothing while it is down with --failure-policy Ignore', async () => {
    await stage.start('one', ['--failure-policy', 'Ignore', '--timeout', '1s'])
    await stage.stop('one', 'SIGKILL')
    await untilAsked(false)
  })
})

describe('the certificates of the webhook', () => {
  it('stay in use while their Secret belongs to another manager; the webhook is not ready after they have expired', async () => {
    await stage.home.kube.request('DELETE', secretPath())
    await stage.start('one', ['--certificate-lifetime', '12s', '--authority-lifetime', '600s'])
    await labelSecret('others')
    const begun = Date.now()
    // The webhook must be ready at every check, not only once.
    while (Date.now() < begun + 2000) {
      expect(await stage.isReady('one')).toBe(true)
      await sleep(100)
    }
    await untilReady('one', false)
    await labelSecret('pawl-webhook')
    await untilReady('one', true)
  }, 200_000)

  it('are rotated by two processes during requests, with their authorities, and no request meets an untrusted one', async () => {
    const short = ['--certificate-lifetime', '10s', '--authority-lifetime', '26s']
    await stage.home.kube.request('DELETE', secretPath())
    const port = await stage.start('one', short)
    // The second process uses the same Secret; API servers call only the first process.
    await stage.start('two', [...short, '--url', `https://127.0.0.1:${port}`])
    const seen = new Set<string>()
    const bundles = new Set<string>()
    const end = Date.now() + 150_000
    for (let turn = 0; (seen.size <= 3 || bundles.size <= 2) && Date.now() < end; turn++) {
      expect(await refusalOf(create('Target', `turn-${turn}`, BOTH))).toContain('denied the request')
      const { data } = await stage.home.kube.request<{ data: Record<string, string> }>('GET', secretPath())
      await handshake(port)
      seen.add(data['tls.crt'] ?? '')
      bundles.add(data['ca.crt'] ?? '')
      await sleep(200)
    }
    expect(seen.size).toBeGreaterThan(3)
    expect(bundles.size).toBeGreaterThan(2)
  }, 200_000)
})

function secretPath(): string {
  return `/api/v1/namespaces/${stage.home.namespace}/secrets/pawl-webhook-certificates`
}

async function untilReady(name: string, isReady: boolean): Promise<void> {
  await expect.poll(async () => await stage.isReady(name), { timeout: 90_000, interval: 100 }).toBe(isReady)
}

/** Sets the managed-by label of the Secret. Only the manager in this label writes the Secret. */
async function labelSecret(manager: string): Promise<void> {
  await stage.home.kube.request('PATCH', secretPath(), {
    body: { metadata: { labels: { 'app.kubernetes.io/managed-by': manager } } },
    contentType: 'application/merge-patch+json',
  })
}

/**
 * Waits until the API server, which learns of the webhook configuration through its watch, refuses an invalid object
 * (or accepts it, if `isAsked` is false).
 */
async function untilAsked(isAsked: boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  for (;;) {
    const name = `probe-${(probes += 1)}`
    const isRefused = await create('Target', name, BOTH).then(
      () => false,
      () => true,
    )
    if (isRefused === isAsked) return
    if (Date.now() > deadline)
      throw new Error(`after 30 s an object with mistakes is still ${isRefused ? '' : 'not '}refused`)
    await sleep(100)
  }
}

let probes = 0

/**
 * Connects like an API server that has no open connection. @throws when the CA bundle of the configuration does not
 * match the certificate of the webhook.
 */
async function handshake(port: number): Promise<void> {
  const { webhooks } = await stage.cluster.kube.request<{ webhooks: { clientConfig: { caBundle: string } }[] }>(
    'GET',
    stage.configurationPath,
  )
  const ca = Buffer.from(webhooks.at(-1)?.clientConfig.caBundle ?? '', 'base64')
  const socket = connect({ host: '127.0.0.1', port, ca })
  await once(socket, 'secureConnect')
  socket.destroy()
}

async function kubectlApply(name: string, spec: object, kind = 'Execution'): Promise<{ readonly stderr: string }> {
  const { kubectlPath, kubeconfigPath } = inject('servers')
  const manifest = { apiVersion: API, kind, metadata: { name, namespace: stage.cluster.namespace }, spec }
  return await new Promise((resolve) => {
    const child = execFile(
      kubectlPath,
      [`--kubeconfig=${kubeconfigPath}`, 'create', '-f', '-'],
      (_error, _out, stderr) => resolve({ stderr }),
    )
    child.stdin?.end(JSON.stringify(manifest))
  })
}
