// The webhook on a real API server: the writes that it refuses, its messages, the users that it records, the writes that
// pass while it is down, its configuration, and its certificates.

import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/errors.ts'
import { secretStore } from '../../worker/webhook/certificate-store.ts'
import { recordedName } from '../../workflows/landscaper/steered-by.ts'
import { API, FINALIZER, type LsObject } from '../support/cluster/cluster.ts'
import { kubectlAs } from '../support/cluster/kubectl-as.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'
import { deniedTo } from '../support/rights/rights-audit.ts'

const NAME = 'webhook'
const ALICE = 'alice@example.com'
const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const SKIP = 'landscaper.gardener.cloud/pawl-skip'
const OPERATION = 'landscaper.gardener.cloud/operation'
const RECORD = 'landscaper.gardener.cloud/pawl-steered-by'
const FORGED = JSON.stringify({ [PAUSED]: { value: 'a freeze', by: ALICE } })
const UNVALIDATED = { 'validation.landscaper.gardener.cloud/skip-validation': 'true' }
const MOCK = {
  type: 'landscaper.gardener.cloud/mock',
  config: { apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1', kind: 'ProviderConfiguration' },
}
const CYCLE = [
  { ...MOCK, name: 'a', dependsOn: ['c'] },
  { ...MOCK, name: 'b', dependsOn: ['a'] },
  { ...MOCK, name: 'c', dependsOn: ['b'] },
]
const INVALID = { type: 'x', config: {}, secretRef: { name: 'x' } }
const PLURALS = { Execution: 'executions', DeployItem: 'deployitems', Target: 'targets', Installation: 'installations' }
// The API server learns of a changed configuration through its watch.
const LATER = { timeout: 30_000, interval: 100 }

let stage: WebhookStage
const alice = kubectlAs(inject('servers'), NAME, ALICE)
const mallory = kubectlAs(inject('servers'), NAME, 'mallory')

beforeAll(async () => {
  stage = await WebhookStage.open(inject('servers'), NAME)
  await start()
}, 240_000)
afterAll(() => stage.close())

describe('the webhook refuses', () => {
  it('a dependency cycle in items, in compressed items and in an inline blueprint, and names its path', async () => {
    expect(await kubectlCreate('Execution', 'cyclic', { deployItems: CYCLE })).toContain(
      'spec.deployItems: Invalid value: found items that depend on each other: a -> c -> b -> a; expected no cycle',
    )
    const deployItemsCompressed = gzipSync(JSON.stringify(CYCLE)).toString('base64')
    expect(await kubectlCreate('Execution', 'packed', { deployItemsCompressed })).toContain(
      'spec.deployItemsCompressed',
    )
    const handing = (name: string, takes: string, gives: string) => {
      const data = (dataRef: string) => ({ data: [{ name: dataRef, dataRef }] })
      return { name, imports: data(takes), exports: data(gives) }
    }
    const subinstallations = [handing('a', 'x', 'y'), handing('b', 'y', 'z'), handing('c', 'z', 'x')]
    const filesystem = { 'blueprint.yaml': JSON.stringify({ subinstallations }) }
    expect(await kubectlCreate('Installation', 'ring', { blueprint: { inline: { filesystem } } })).toMatch(
      /spec\.blueprint\.inline: .*(?:a -> c -> b -> a|b -> a -> c -> b|c -> b -> a -> c)/,
    )
  })

  it('an invalid change of the spec, but no labelled object, no other change of an invalid object, and no object of another namespace', async () => {
    await create('Target', 'skipped', INVALID, { labels: UNVALIDATED })
    await stage.cluster.patch('targets', 'skipped', { metadata: { labels: { [Object.keys(UNVALIDATED)[0]!]: null } } })
    await stage.cluster.patch('targets', 'skipped', { metadata: { labels: { other: 'x' } } })
    expect(await refusalOf(stage.cluster.patch('targets', 'skipped', { spec: { type: 'y' } }))).toContain(
      'denied the request: spec: found config and secretRef',
    )
    await stage.cluster.patch('targets', 'skipped', { spec: { secretRef: null } })
    await stage.home.create({ apiVersion: API, kind: 'Target', metadata: { name: 'both' }, spec: INVALID }, 'targets')
  })
})

describe('the CRD schema, without the webhook,', () => {
  it('refuses a change of the type of a DeployItem; an item with an empty type is stored and can be deleted', async () => {
    const metadata = { name: 'kept', finalizers: [FINALIZER] }
    const item = { apiVersion: API, kind: 'DeployItem', metadata, spec: { ...MOCK, type: '' } }
    await stage.home.create(item, 'deployitems')
    expect(await refusalOf(stage.home.patch('deployitems', 'kept', { spec: { type: 'b' } }))).toContain('spec.type')
    await stage.home.patch('deployitems', 'kept', { spec: { timeout: '1m' } })
    await stage.home.delete('deployitems', 'kept')
    await stage.home.patch('deployitems', 'kept', { status: { phase: 'Deleting' } }, 'status')
    await stage.home.patch('deployitems', 'kept', { metadata: { finalizers: null } })
    expect(await stage.home.get('deployitems', 'kept')).toBeUndefined()
  })
})

describe('the record of a pause', () => {
  it('names the user who set the pause, and other users cannot change it', async () => {
    await create('Execution', 'paused', { deployItems: [] })
    await alice('annotate', 'execution', 'paused', `${PAUSED}=a freeze`)
    const ofAlice = await record('paused')
    expect(await recordedUser('paused')).toBe(ALICE)
    for (const change of [[`${RECORD}=${FORGED.replace(ALICE, 'bob')}`], [`${RECORD}-`], ['other=x']]) {
      await mallory('annotate', '--overwrite', 'execution', 'paused', ...change)
      expect(await record('paused')).toBe(ofAlice)
    }
    await mallory('annotate', '--overwrite', 'execution', 'paused', `${PAUSED}=another`, `${RECORD}=${FORGED}`)
    expect(await recordedUser('paused')).toBe('mallory')
    for (const change of [`${PAUSED}-`, `${RECORD}=${FORGED}`]) {
      await mallory('annotate', 'execution', 'paused', change)
      expect(await record('paused')).toBeUndefined()
    }
  })

  it('names the user also when the object is created, replaced, applied, labelled or being deleted', async () => {
    const annotations = { [PAUSED]: 'a freeze', [RECORD]: FORGED }
    const metadata = { annotations, labels: UNVALIDATED, finalizers: [FINALIZER] }
    await create('Execution', 'made', { deployItems: [] }, metadata)
    expect(await recordedUser('made')).toBe('admin')
    const put = (given: object) =>
      JSON.stringify({ metadata: { annotations: { [PAUSED]: null, [RECORD]: null, ...given } } })
    await mallory('patch', 'execution', 'made', '--type=merge', '-p', put({ [PAUSED]: 'mine', [RECORD]: FORGED }))
    expect(await recordedUser('made')).toBe('mallory')
    await stage.cluster.delete('executions', 'made')
    await alice('patch', 'execution', 'made', '--type=merge', '-p', put({ [PAUSED]: 'a freeze' }))
    expect(await recordedUser('made')).toBe(ALICE)
    await mallory('patch', 'execution', 'made', '--type=merge', '-p', put({ [PAUSED]: 'a freeze' }))
    expect(await recordedUser('made')).toBe(ALICE)
    await release('executions', 'made')
  })

  it('is returned by a dry run, but not stored', async () => {
    await create('Execution', 'dry', { deployItems: [] })
    const text = await alice('annotate', '--dry-run=server', '-o', 'json', 'execution', 'dry', `${PAUSED}=true`)
    expect(recordedName(JSON.parse(text) as object, PAUSED)).toBe(ALICE)
    expect(await record('dry')).toBeUndefined()
  })
})

describe('an item that is skipped or retried', () => {
  it('has a record of the user for each of the two annotations', async () => {
    await create('DeployItem', 'item', MOCK, { finalizers: [FINALIZER] })
    await alice('annotate', 'deployitem', 'item', `${SKIP}=not here`)
    await mallory('annotate', 'deployitem', 'item', `${OPERATION}=retry`)
    const users = async () => {
      const item = (await stage.cluster.get('deployitems', 'item')) ?? {}
      return [SKIP, OPERATION].map((annotation) => recordedName(item, annotation))
    }
    expect(await users()).toEqual([ALICE, 'mallory'])
    await alice('annotate', 'deployitem', 'item', `${OPERATION}-`)
    expect(await users()).toEqual([ALICE, undefined])
  })
})

describe('the webhook', () => {
  it('keeps foreign entries of its configuration, and restores its own', async () => {
    interface Configuration extends KubeObject {
      readonly webhooks: readonly { readonly name: string; readonly timeoutSeconds: number }[]
    }
    const { kube } = stage.cluster
    const { webhooks } = await kube.request<Configuration>('GET', stage.configurationPath)
    const foreign = { ...webhooks[0]!, name: 'others.example.org', failurePolicy: 'Ignore', rules: [] }
    await kube.request('PATCH', stage.configurationPath, {
      body: {
        metadata: { labels: { theirs: 'yes' } },
        webhooks: [foreign, ...webhooks.map((one) => ({ ...one, timeoutSeconds: 1 }))],
      },
      contentType: 'application/merge-patch+json',
    })
    await start('--timeout', '2s')
    const now = await kube.request<Configuration>('GET', stage.configurationPath)
    expect(now.metadata.labels).toEqual({ theirs: 'yes' })
    expect(now.webhooks.map(({ name, timeoutSeconds }) => [name, timeoutSeconds])).toEqual([
      ['others.example.org', foreign.timeoutSeconds],
      ...webhooks.map(({ name }) => [name, 2]),
    ])
  })

  it('blocks only new objects and spec changes while it is down; deletions and operation annotations pass', async () => {
    await create('DeployItem', 'leaving', MOCK, { finalizers: [FINALIZER] })
    // Large, because the match conditions compare the old and the new spec, whose CEL cost the API server limits. A list,
    // because the API server stores an entry in managedFields for each key of an object: 20,000 keys take 8 s per write.
    const large = Array.from({ length: 20_000 }, (_, index) => ({ [`key-${index}`]: { of: [`${index}`] } }))
    await create('DeployItem', 'held', { ...MOCK, config: { ...MOCK.config, large } }, { finalizers: [FINALIZER] })
    await stage.stop('one', 'SIGKILL')
    expect(await refusalOf(create('DeployItem', 'coming', MOCK))).toContain('failed calling webhook')
    const edit = { spec: { timeout: '1m' } }
    expect(await refusalOf(stage.cluster.patch('deployitems', 'held', edit))).toContain('failed calling webhook')
    const metadata = { annotations: { [OPERATION]: 'reconcile' }, labels: { a: 'b' } }
    await stage.cluster.patch('deployitems', 'held', { metadata })
    await stage.cluster.patch('deployitems', 'held', { metadata: { finalizers: null } })
    await stage.cluster.delete('deployitems', 'held')
    expect(await stage.cluster.get('deployitems', 'held')).toBeUndefined()
    await stage.cluster.delete('deployitems', 'leaving')
    await stage.cluster.patch('deployitems', 'leaving', { status: { phase: 'Deleting' } }, 'status')
    await release('deployitems', 'leaving')
  })

  it('with the policy Fail, pauses and records cannot be changed; other writes and deletions pass', async () => {
    await start()
    const metadata = { finalizers: [FINALIZER], annotations: { [PAUSED]: 'a freeze' } }
    await create('Execution', 'held', { deployItems: [] }, metadata)
    await stage.stop('one', 'SIGKILL')
    for (const change of [`${RECORD}=${FORGED}`, `${PAUSED}=x`])
      await expect(mallory('annotate', '--overwrite', 'execution', 'held', change)).rejects.toThrow(
        'failed calling webhook',
      )
    await mallory('annotate', 'execution', 'held', `${OPERATION}=interrupt`)
    await mallory('label', 'execution', 'held', 'a=b')
    await stage.cluster.patch('executions', 'held', { status: { phase: 'Failed' } }, 'status')
    await mallory('annotate', 'execution', 'held', `${PAUSED}-`)
    await stage.cluster.delete('executions', 'held')
    await release('executions', 'held')
  })

  it('with the policy Ignore, writes pass, also those with forged records', async () => {
    const policies = ['--failure-policy', 'Ignore', '--record-policy', 'Ignore']
    await stage.start('one', [...policies, '--timeout', '1s'])
    await create('Execution', 'believed', { deployItems: [] })
    await stage.stop('one', 'SIGKILL')
    await vi.waitFor(() => create('Target', nextProbe(), INVALID), LATER)
    const forge = ['annotate', '--overwrite', 'execution', 'believed', `${PAUSED}=a freeze`, `${RECORD}=${FORGED}`]
    await vi.waitFor(() => mallory(...forge), LATER)
    expect(await recordedUser('believed')).toBe(ALICE)
  })
})

describe('the certificates of the webhook', () => {
  const LIFETIMES = ['--certificate-lifetime', '10s', '--authority-lifetime', '20s']

  it('are rotated by two processes during requests, with their authorities, and no request meets an untrusted one', async () => {
    // The processes start when the authority must be renewed, which takes two thirds of its lifetime.
    await storeCertificates(13_500)
    const port = await stage.start('one', LIFETIMES)
    // The second process uses the same Secret; API servers call only the first process.
    await stage.start('two', [...LIFETIMES, '--url', `https://127.0.0.1:${port}`])
    const issuers = new Set<string>()
    const bundles = new Set<string>()
    const end = Date.now() + 150_000
    while ((issuers.size < 2 || bundles.size < 2) && Date.now() < end) {
      expect(await refusalOf(create('Target', nextProbe(), INVALID))).toContain('denied the request')
      await handshake(port)
      const { 'tls.crt': certificate = '', 'ca.crt': bundle = '' } = await storedCertificates()
      issuers.add(new X509Certificate(certificate).issuer)
      bundles.add(bundle)
      await sleep(100)
    }
    expect([issuers.size, bundles.size].every((count) => count > 1)).toBe(true)
    await stage.stop('two')
  }, 200_000)

  it('stay in use while their Secret belongs to another manager; the webhook is not ready after they have expired', async () => {
    // Not yet to be renewed, and expired soon.
    await storeCertificates(3000)
    await stage.start('one', ['--certificate-lifetime', '10s', '--authority-lifetime', '600s'])
    await labelSecret('others')
    const begun = Date.now()
    // The webhook must be ready at every check, not only once.
    while (Date.now() < begun + 1000) {
      expect(await stage.isReady('one')).toBe(true)
      await sleep(100)
    }
    await expect.poll(() => stage.isReady('one'), { timeout: 90_000, interval: 100 }).toBe(false)
    await labelSecret('pawl-webhook')
    await expect.poll(() => stage.isReady('one'), { timeout: 90_000, interval: 100 }).toBe(true)
  }, 200_000)
})

describe('the process', () => {
  it('needs no right that its roles do not have', async () => {
    expect(await deniedTo(inject('servers').auditLogPath, `system:serviceaccount:${stage.home.namespace}`)).toEqual([])
  })
})

/** Starts the webhook with the policy Fail, and waits until the API server calls it for objects and for records. */
async function start(...flags: readonly string[]): Promise<void> {
  await stage.start('one', ['--record-policy', 'Fail', ...flags])
  await vi.waitFor(async () => await refusalOf(create('Target', nextProbe(), INVALID)), LATER)
  const metadata = { annotations: { [PAUSED]: 'a freeze' } }
  await vi.waitFor(async () => {
    const { metadata: made } = await create('Execution', nextProbe(), { deployItems: [] }, metadata)
    expect(made.annotations).toHaveProperty([RECORD])
  }, LATER)
}

async function create(kind: keyof typeof PLURALS, name: string, spec: object, more: object = {}): Promise<LsObject> {
  return await stage.cluster.create({ apiVersion: API, kind, metadata: { name, ...more }, spec }, PLURALS[kind])
}

let probes = 0
function nextProbe(): string {
  return `probe-${(probes += 1)}`
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof KubeError) return error.message
  throw new Error('it was not refused', { cause: error })
}

/** Removes the finalizers of an object that is being deleted, and waits until it is gone. */
async function release(plural: string, name: string): Promise<void> {
  await stage.cluster.patch(plural, name, { metadata: { finalizers: null } })
  await stage.cluster.waitUntilGone(name, plural)
}

async function record(name: string): Promise<string | undefined> {
  return (await stage.cluster.get('executions', name))?.metadata.annotations?.[RECORD]
}

async function recordedUser(name: string): Promise<string | undefined> {
  return recordedName((await stage.cluster.get('executions', name)) ?? {}, PAUSED)
}

const SECRET = 'pawl-webhook-certificates'

/** Replaces the Secret by one that a webhook with lifetimes of 10 s and 20 s created at an earlier time. */
async function storeCertificates(ageMs: number): Promise<void> {
  const { kube, namespace } = stage.home
  await kube.request('DELETE', secretPath())
  const lifetimes = { certificateLifetimeMs: 10_000, authorityLifetimeMs: 20_000, settleMs: 2000 }
  await secretStore(kube, { namespace, name: SECRET }, { names: ['127.0.0.1'], ...lifetimes })(Date.now() - ageMs)
}

function secretPath(): string {
  return `/api/v1/namespaces/${stage.home.namespace}/secrets/${SECRET}`
}

async function storedCertificates(): Promise<Readonly<Record<string, string>>> {
  const { data } = await stage.home.kube.request<{ data: Readonly<Record<string, string>> }>('GET', secretPath())
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]))
}

/** Sets the managed-by label of the Secret. Only the manager in this label writes the Secret. */
async function labelSecret(manager: string): Promise<void> {
  await stage.home.kube.request('PATCH', secretPath(), {
    body: { metadata: { labels: { 'app.kubernetes.io/managed-by': manager } } },
    contentType: 'application/merge-patch+json',
  })
}

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

/** @returns what `kubectl create` prints to standard error. */
async function kubectlCreate(kind: keyof typeof PLURALS, name: string, spec: object): Promise<string> {
  const { kubectlPath, kubeconfigPath } = inject('servers')
  const manifest = { apiVersion: API, kind, metadata: { name, namespace: stage.cluster.namespace }, spec }
  return await new Promise((resolve) => {
    const args = [`--kubeconfig=${kubeconfigPath}`, 'create', '-f', '-']
    const child = execFile(kubectlPath, args, (_error, _out, stderr) => resolve(stderr))
    child.stdin?.end(JSON.stringify(manifest))
  })
}
