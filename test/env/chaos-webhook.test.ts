// The chaos wing's webhook as a real process with its shipped roles, called by a real API server for requests of kubectl. The rules themselves have unit
// tests in test/workflows/chaos. Acceptance scenarios: spec/chaos.md 4.2.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { installCrds, setUpWings } from '../../worker/dev/pawl-parts.ts'
import { FINALIZER } from '../../workflows/chaos/contract.ts'
import { PublishedLists } from '../support/chaos/published-lists.ts'
import { Datagrams } from '../support/chaos/datagrams.ts'
import { configFile } from '../support/chaos/config-file.ts'
import type { LsObject } from '../support/cluster/cluster.ts'
import { kubectlAs } from '../support/cluster/kubectl-as.ts'
import { deniedTo } from '../support/rights/rights-audit.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'
import { specWith } from '../workflows/chaos/disruption/spec-cases.ts'
import { cronSpec, rolloutSpec } from '../workflows/chaos/parents.ts'

const NAME = 'chaos-webhook'
const CHAOS = 'chaos.datadoghq.com/v1beta1'
const ALICE = 'alice@example.com'
const ENVIRONMENT = { 'chaos.datadoghq.com/environment': 'test' }
const HOSTS = { network: { drop: 10, hosts: [{ host: '10.0.0.0/8' }] } }
const FORGED = '{"username":"bob","groups":[]}'
const PATIENT = { timeout: 60_000, interval: 100 }

const folder = mkdtempSync(join(tmpdir(), 'pawl-chaos-webhook-'))
const servers = inject('servers')
const alice = kubectlAs(servers, NAME, ALICE)
// The cluster contains pods of other tests, so a test of its threshold needs a count that always exceeds it.
const lists = await PublishedLists.start()
const agent = await Datagrams.open()
vi.stubEnv('STATSD_URL', agent.url)
const CONFIG = {
  cloudProviders: { aws: { ipRangesURL: lists.url('aws') }, gcp: { enabled: false } },
  controller: {
    minimumCronFrequency: '20m',
    defaultDuration: '5m',
    maxDuration: '2h',
    disabledDisruptions: ['disk-pressure'],
    safeMode: { environment: 'test', permittedUserGroups: ['ops', 'system:masters'], clusterThreshold: 100 },
  },
  handler: { enabled: true, image: 'handler:1', maxTimeout: '10m' },
}
let stage: WebhookStage

beforeAll(async () => {
  await installCrds(servers, ['chaos'])
  await setUpWings(servers, ['chaos'])
  stage = await WebhookStage.open(servers, NAME)
  const flags = ['--wings', 'landscaper,chaos', '--chaos-config', configFile(folder, CONFIG)]
  await stage.start('one', [...flags, '--metrics-sink', 'datadog'])
  for (let number = 1; number <= 10; number++) await run(`web-${number}`)
  // API servers watch webhook configurations, so a new one takes effect later.
  const dry = '--dry-run=server'
  await vi.waitFor(async () => {
    expect((await create('asked', HOSTS, {}, dry)).spec?.['duration']).toBe('5m0s')
    expect(await refused('asked', {}, {}, dry)).toContain('spec')
  }, PATIENT)
}, 240_000)
afterAll(async () => {
  vi.unstubAllEnvs()
  await stage.close()
  await lists.close()
  await agent.close()
  rmSync(folder, { recursive: true })
})

describe('a Disruption', () => {
  it('is rejected without a kind, or with another mistake that its CRD alone would accept', async () => {
    expect(await refused('none', {})).toContain('at least one kind')
    expect(await refused('pulse', { ...HOSTS, pulse: { activeDuration: '1m' } })).toContain('spec.pulse')
  })

  it("without a duration gets the operators' default, and may not exceed their maximum (A13)", async () => {
    expect((await create('usual', HOSTS)).spec?.['duration']).toBe('5m0s')
    expect((await create('own', { ...HOSTS, duration: '1h' })).spec?.['duration']).toBe('1h')
    expect(await refused('long', { ...HOSTS, duration: '3h' })).toContain('found 3h0m0s; expected at most 2h0m0s')
  })

  it('is counted by the result of its review, unless it is a dry run', async () => {
    const counted = async () => {
      const lines = await stage.metrics('one')
      return ['created', 'failed', 'deleted'].map((what) => {
        const name = `chaos_controller_validation_${what}{namespace="${NAME}"} `
        return Number(lines.find((line) => line.startsWith(name))?.slice(name.length) ?? 0)
      })
    }
    const [made = 0, refusals = 0, deletions = 0] = await counted()
    await create('counted', HOSTS, { finalizers: [FINALIZER] })
    await create('tried', HOSTS, {}, '--dry-run=server')
    await refused('uncounted', { ...HOSTS, duration: '3h' })
    // A second deletion of the same object counts nothing.
    for (const dry of [['--dry-run=server'], [], []])
      await alice('delete', 'disruption', 'counted', '--wait=false', ...dry)
    expect(await counted()).toEqual([made + 1, refusals + 1, deletions + 1])
    await alice('patch', 'disruption', 'counted', '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    await vi.waitFor(() => {
      const about = (what: string) => agent.of(`chaos.controller.validation.${what}`).map(({ tags }) => tags)
      const tags = (name: string) => ['app:chaos-controller', `disruptionName:${name}`, `namespace:${NAME}`]
      expect(about('created')).toContainEqual(tags('counted'))
      expect(about('deleted')).toEqual([tags('counted')])
      expect(about('failed')).toContainEqual(tags('uncounted'))
      expect(about('created')).not.toContainEqual(tags('tried'))
    }, PATIENT)
  })

  it('may list DNS records in the format of 2021, which is stored and validated as an object', async () => {
    const answer = (type: string) => ({ hostname: 'a.example', record: { type, value: '1.2.3.4', ttl: 5 } })
    const listed = await create('dns-list', { dns: [answer('A')] })
    expect(listed.spec?.['dns']).toEqual({ records: [answer('A')] })
    expect(await refused('dns-odd', { dns: [answer('MX')] })).toContain('spec.dns.records[0].record.value')
    // The same manifest again.
    await alice('apply', '-f', written(disruption('dns-list', { dns: [answer('A')] })))
    const template = { ...specWith({ dns: [answer('A')] }), duration: '1m' }
    const metadata = { name: 'dns-list', annotations: ENVIRONMENT }
    const cron = {
      apiVersion: CHAOS,
      kind: 'DisruptionCron',
      metadata,
      spec: cronSpec({ disruptionTemplate: template }),
    }
    await alice('apply', '-f', written(cron))
    const stored = (await stage.cluster.get('disruptioncrons', 'dns-list', CHAOS))?.spec?.['disruptionTemplate']
    expect(stored).toMatchObject({ dns: { records: [answer('A')] } })
  })

  it('must name known cloud services, if their list is available, with few enough addresses', async () => {
    const s3 = { aws: [{ service: 'S3' }] }
    await create('of-cloud', { network: { drop: 1, cloud: s3 } })
    expect(await refused('no-cloud', { network: { drop: 1, cloud: { aws: [{ service: 's3' }] } } })).toMatch(
      /spec\.network\.cloud\.aws\[0\]\.service:.* found "s3"; expected one of S3, EC2/,
    )
    const hosts = Array.from({ length: 2047 }, () => ({ host: '10.0.0.1' }))
    expect(await refused('too-many', { network: { drop: 1, hosts, cloud: s3 } })).toContain(
      'found hosts, Services and services of clouds with 2049 addresses; expected at most 2048',
    )
    const unknown = { network: { drop: 1, cloud: { gcp: [{ service: 'Google' }] } } }
    const { stderr } = await alice.both('apply', '-f', written(disruption('off-cloud', unknown)))
    expect(stderr).toContain(
      'Warning: spec.network.cloud: cloudProviders.gcp: it is off, so the addresses of gcp are unknown; turn it on',
    )
  })

  it('must name existing Services', async () => {
    const service = (name: string, port: number) => ({
      network: { drop: 1, services: [{ name, namespace: NAME, ports: [{ port }] }] },
    })
    const body = { metadata: { name: 'db' }, spec: { ports: [{ port: 5432 }] } }
    await stage.cluster.kube.request('POST', `/api/v1/namespaces/${NAME}/services`, { body })
    await create('of-service', service('db', 5432))
    expect(await refused('of-none', service('gone', 80))).toContain(`found no Service ${NAME}/gone`)
  })
})

describe('safety nets', () => {
  it('reject 9 of 10 pods of a namespace and too many nodes, accept 8 of 10, and are disabled by their flag (A18)', async () => {
    const found = 'found 9 of 10 in the namespace; expected at most 80 percent'
    expect(await refused('net', { ...HOSTS, count: '90%' })).toContain(found)
    await create('net-less', { ...HOSTS, count: 8 })
    const unsafe = await create('net', { ...HOSTS, count: '90%', unsafeMode: { disableCountTooLarge: true } })
    expect(unsafe.spec).toMatchObject({ count: '90%' })
    const more = alice('patch', 'disruption', 'net-less', '--type=merge', '-p', '{"spec":{"count":9}}')
    await expect(more).rejects.toThrow(found)
    expect(await refused('nodes', { ...HOSTS, level: 'node', count: 1000 })).toContain('in the cluster')
  })
})

describe('the recorded creator', () => {
  it.each([
    ['disruptions', 'Disruption', specWith(HOSTS)],
    ['disruptioncrons', 'DisruptionCron', cronSpec()],
    ['disruptionrollouts', 'DisruptionRollout', rolloutSpec()],
  ])('is recorded of %s, whatever the client writes, and stays', async (plural, kind, spec) => {
    const metadata = { name: 'made', annotations: { ...ENVIRONMENT, UserInfo: FORGED } }
    await alice('apply', '-f', written({ apiVersion: CHAOS, kind, metadata, spec }))
    const user = async () =>
      (await stage.cluster.get(plural, 'made', CHAOS))?.metadata.annotations?.['UserInfo'] ?? 'nobody'
    const { username, groups } = JSON.parse(await user()) as { username: string; groups: string[] }
    expect(Object.keys(JSON.parse(await user()) as object)).toEqual(['username', 'groups'])
    expect([username, groups.includes('system:masters')]).toEqual([ALICE, true])
    const before = await user()
    await expect(alice('annotate', '--overwrite', kind, 'made', `UserInfo=${FORGED}`)).rejects.toThrow(
      'expected the value of the creation',
    )
    await alice('annotate', kind, 'made', 'UserInfo-', 'other=x')
    expect(await user()).toBe(before)
  })
})

describe('a DisruptionCron', () => {
  it("must leave the operators' pause, and gets their default tolerance", async () => {
    const cron = (schedule: string) =>
      written({
        apiVersion: CHAOS,
        kind: 'DisruptionCron',
        metadata: { name: 'often', annotations: ENVIRONMENT },
        spec: cronSpec({ schedule }),
      })
    await expect(alice('apply', '-f', cron('*/15 * * * *'))).rejects.toThrow('spec.schedule')
    await alice('apply', '-f', cron('0 * * * *'))
    const { spec } = (await stage.cluster.get('disruptioncrons', 'often', CHAOS)) ?? {}
    expect(spec?.['delayedStartTolerance']).toBe('5m0s')
  })
})

describe('a pod', () => {
  const made = async (name: string, metadata: object) => {
    const initContainers = [{ name: 'own', image: 'none' }]
    const body = {
      metadata: { name, ...metadata },
      spec: { initContainers, containers: [{ name: 'app', image: 'none' }] },
    }
    const { spec } = await stage.cluster.kube.request<KubeObject>('POST', `/api/v1/namespaces/${NAME}/pods`, { body })
    return (spec as { readonly initContainers: readonly { readonly name: string }[] }).initContainers
  }

  it('with the label of on-init gets a waiting container before its own (B23)', async () => {
    const labels = { 'chaos.datadoghq.com/disrupt-on-init': 'true' }
    const annotations = {
      'chaos.datadoghq.com/disrupt-on-init-timeout': '5m',
      'chaos.datadoghq.com/disrupt-on-init-succeed-on-timeout': 'true',
    }
    const [handler, ...others] = await made('waits', { labels, annotations })
    expect(handler).toMatchObject({
      name: 'chaos-handler',
      image: 'handler:1',
      args: ['--timeout', '5m0s', '--succeed-on-timeout'],
      resources: { limits: { cpu: '100m', memory: '100Mi' }, requests: { cpu: '100m', memory: '100Mi' } },
    })
    expect(others.map(({ name }) => name)).toEqual(['own'])
    await create('on-init', { ...HOSTS, onInit: true })
  })

  it('without that label stays unchanged', async () => {
    expect((await made('plain', {})).map(({ name }) => name)).toEqual(['own'])
  })
})

describe('the finalizer of a Disruption', () => {
  it('cannot be removed while chaos pods exist, and the error names them (A16)', async () => {
    await create('held', HOSTS, { finalizers: [FINALIZER] })
    const labels = { 'chaos.datadoghq.com/disruption-name': 'held', 'chaos.datadoghq.com/disruption-namespace': NAME }
    await run('chaos-held-1', 'chaos-engineering', labels)
    const off = () => alice('patch', 'disruption', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    await expect(off()).rejects.toThrow('while these chaos pods exist: chaos-held-1')
    await alice('delete', 'disruption', 'held', '--wait=false')
    await expect(off()).rejects.toThrow('while these chaos pods exist: chaos-held-1')
    await alice('-n', 'chaos-engineering', 'delete', 'pod', 'chaos-held-1', '--force', '--grace-period=0')
    await off()
    await vi.waitFor(async () => {
      expect(await stage.cluster.get('disruptions', 'held', CHAOS)).toBeUndefined()
    }, PATIENT)
  })
})

describe('the webhook of two wings', () => {
  it('calls both', async () => {
    const bad = { type: 'x', config: {}, secretRef: { name: 'x' } }
    const target = {
      apiVersion: 'landscaper.gardener.cloud/v1alpha1',
      kind: 'Target',
      metadata: { name: 'bad' },
      spec: bad,
    }
    await expect(alice('apply', '-f', written(target))).rejects.toThrow('found config and secretRef')
  })

  it('needs no right that its roles do not have', async () => {
    expect(await deniedTo(servers.auditLogPath, `system:serviceaccount:${stage.home.namespace}`)).toEqual([])
  })
})

describe('while no webhook answers', () => {
  it('a finalizer can be removed, so a missing webhook blocks no deletion', async () => {
    await create('away', HOSTS, { finalizers: [FINALIZER] })
    await stage.stop('one', 'SIGKILL')
    await alice('delete', 'disruption', 'away', '--wait=false')
    await alice('patch', 'disruption', 'away', '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    expect(await stage.cluster.get('disruptions', 'away', CHAOS)).toBeUndefined()
  })
})

function disruption(name: string, spec: object, metadata: object = {}) {
  const annotated = { name, annotations: ENVIRONMENT, ...metadata }
  return { apiVersion: CHAOS, kind: 'Disruption', metadata: annotated, spec: specWith(spec) }
}

async function create(name: string, spec: object, metadata: object = {}, ...flags: readonly string[]) {
  const file = written(disruption(name, spec, metadata))
  return JSON.parse(await alice('create', '-f', file, '-o', 'json', ...flags)) as LsObject
}

/** @returns the error of kubectl. */
async function refused(...args: Parameters<typeof create>): Promise<string> {
  return await create(...args).then(() => 'it was stored', String)
}

/** @returns the path of a file. */
function written(object: object): string {
  return configFile(mkdtempSync(join(folder, 'manifest-')), object)
}

/** Creates a pod with the status Running and no process. */
async function run(name: string, namespace = NAME, labels: object = { app: 'demo' }): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const body = { metadata: { name, labels }, spec: { containers: [{ name: 'app', image: 'none' }] } }
  // The API server rejects pods before the namespace's ServiceAccount exists.
  await vi.waitFor(async () => await stage.cluster.kube.request<KubeObject>('POST', pods, { body }), PATIENT)
  await stage.cluster.kube.request('PATCH', `${pods}/${name}/status`, {
    body: { status: { phase: 'Running' } },
    contentType: 'application/merge-patch+json',
  })
}
