// Connections to clusters of Targets, against a real API server with RBAC.

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { toDeployError } from '../../activities/landscaper/deploy/run/deploy-errors.ts'
import { readObject } from '../../activities/landscaper/deploy/target/read-object.ts'
import type { TargetCluster } from '../../activities/landscaper/deploy/target/target-cluster.ts'
import { CERTIFICATE } from '../activities/landscaper/deploy/target/credentials.ts'
import { failure, type UserConfig, useTargetStage, whoami } from './target-stage.ts'

const NAMESPACE = 'target-access'
const stage = useTargetStage(NAMESPACE)
const open = (name: string) => stage().open(name)
const target = (name: string, spec: object) => stage().target(name, spec)

const CONFIGURATION = { codes: ['ERR_CONFIGURATION_PROBLEM'], isFinal: true }

describe('a Target', () => {
  it.each<[string, () => Promise<object>]>([
    ['a kubeconfig as text', () => Promise.resolve({ config: { kubeconfig: stage().text } })],
    ['a kubeconfig as an object', () => Promise.resolve({ config: { kubeconfig: parse(stage().text) as object } })],
    ['a Secret with a bare kubeconfig', () => behind('bare', { key: stage().text }, 'key')],
    [
      'a Secret with a configuration in a key',
      () => behind('nested', { key: JSON.stringify({ kubeconfig: stage().text }) }, 'key'),
    ],
    ['a Secret whose keys are the configuration', () => behind('whole', { kubeconfig: stage().text, more: 'unused' })],
  ])('opens a cluster by %s', async (_, spec) => {
    const name = `opens-${Math.random().toString(36).slice(2)}`
    await target(name, await spec())
    const cluster = await open(name)
    expect(await whoami(cluster)).toBe('admin')
    expect(await cluster.servedKind('apps/v1', 'Deployment')).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      plural: 'deployments',
      namespaced: true,
    })
    expect(await cluster.servedKind('v1', 'Namespace')).toEqual({
      apiVersion: 'v1',
      kind: 'Namespace',
      plural: 'namespaces',
      namespaced: false,
    })
    expect(await cluster.servedKind('v1', 'Deployment')).toBeUndefined()
    expect(await cluster.servedKind('../v1', 'Secret')).toBeUndefined()
  })

  async function behind(name: string, data: Readonly<Record<string, string>>, key?: string): Promise<object> {
    await stage().secret(name, data)
    return { secretRef: { name, ...(key !== undefined && { key }) } }
  }

  it('is opened once while it and its Secret are unchanged', async () => {
    await target('kept', await behind('kept', { kubeconfig: stage().text }))
    const [first, second] = await Promise.all([open('kept'), open('kept')])
    expect(second).toBe(first)
    stage().nowMs += 24 * 3_600_000
    expect(await open('kept')).toBe(first)
    await stage().patch(`${stage().targets}/kept`, { metadata: { labels: { a: 'b' } } })
    const third = await open('kept')
    expect(third).not.toBe(first)
    const wrong = stage().changed(({ users: [{ user }] }) => (user['token'] = 'another'))
    await stage().patch(`${stage().core}/secrets/kept`, {
      data: null,
      stringData: { kubeconfig: JSON.stringify(wrong) },
    })
    expect(await failure(async () => await whoami(await open('kept')))).toMatchObject({ codes: ['ERR_UNAUTHORIZED'] })
    expect(await whoami(third)).toBe('admin')
  })

  it('is opened again when 100 other Targets were opened since, and the old client still works for some minutes', async () => {
    const names = Array.from({ length: 101 }, (_, index) => `one-of-many-${index}`)
    await Promise.all(names.map((name) => target(name, { config: { kubeconfig: stage().text } })))
    const [first, second] = [await open('one-of-many-0'), await open('one-of-many-1')]
    expect(await open('one-of-many-0')).toBe(first)
    for (const name of names.slice(2)) await open(name)
    expect(await open('one-of-many-0')).toBe(first)
    expect(await open('one-of-many-1')).not.toBe(second)
    expect(await whoami(second)).toBe('admin')
    stage().nowMs += 11 * 60_000
    await open('one-of-many-0')
    expect(await failure(() => whoami(second))).toMatchObject({ reason: 'Unreachable', isFinal: false })
    expect(await whoami(first)).toBe('admin')
  })

  it.each<[string, object | undefined, string, string]>([
    ['missing', undefined, 'NoTargetFound', 'target target-access/missing is not there'],
    [
      'other-type',
      { type: 'example.org/canary', config: {} },
      'InvalidTarget',
      'spec.type is another type; expected landscaper',
    ],
    ['nothing', {}, 'InvalidTarget', 'spec has neither config nor secretRef; expected one of them'],
    ['both', { config: {}, secretRef: { name: 's' } }, 'InvalidTarget', 'spec has both config and secretRef'],
    [
      'no-secret',
      { secretRef: { name: 'absent' } },
      'InvalidTarget',
      'secret target-access/absent is not there; expected it because of spec.secretRef',
    ],
    ['path', { secretRef: { name: '../configmaps/x' } }, 'InvalidTarget', 'is not there'],
    [
      'empty',
      { config: {} },
      'InvalidTarget',
      'spec.config is without kubeconfig and selfConfig; expected one of them',
    ],
    [
      'text',
      { config: 'canary' },
      'InvalidTarget',
      'spec.config is another text; expected a map with kubeconfig or selfConfig',
    ],
    [
      'oidc',
      { config: { oidcConfig: { server: 'canary' } } },
      'InvalidTarget',
      'spec.config.oidcConfig is set; expected kubeconfig or selfConfig, for it is not supported',
    ],
    [
      'old',
      { config: { kubeconfig: { secretRef: { name: 'canary' } } } },
      'InvalidTarget',
      'spec.config.kubeconfig.secretRef is set; expected spec.secretRef',
    ],
    ['exec', { config: { kubeconfig: 'clusters: []\nexec: canary' } }, 'InvalidTarget', 'spec.config.kubeconfig'],
    [
      'foreign-account',
      { config: { selfConfig: { serviceAccount: { name: 'a', namespace: 'canary' } } } },
      'InvalidTarget',
      'selfConfig.serviceAccount.namespace is set',
    ],
    [
      'no-account',
      { config: { selfConfig: { serviceAccount: { name: 'absent' } } } },
      'InvalidTarget',
      'service account target-access/absent is not there',
    ],
    [
      'odd-account',
      { config: { selfConfig: { serviceAccount: { name: '../canary' } } } },
      'InvalidTarget',
      'selfConfig.serviceAccount.name is another text',
    ],
    [
      'short',
      { config: { selfConfig: { serviceAccount: { name: 'default' }, expirationSeconds: 1 } } },
      'InvalidTarget',
      'expirationSeconds is another number; expected whole seconds, at least 600',
    ],
  ])('%s is refused with a final error that names the field and the mistake', async (name, spec, reason, message) => {
    if (spec !== undefined) await target(name, spec)
    const refused = await failure(() => open(name))
    expect(refused).toMatchObject({ reason, ...CONFIGURATION })
    expect(refused.message).toContain(message)
    expect(refused.message).toContain(`target ${NAMESPACE}/${name}`)
    expect(refused.message).not.toContain('canary')
  })

  it('is refused when the key of its Secret is absent', async () => {
    await target('no-key', await behind('no-key', { canary: 'canary' }, 'absent'))
    expect(await failure(() => open('no-key'))).toMatchObject({
      reason: 'InvalidTarget',
      ...CONFIGURATION,
      message:
        'target target-access/no-key: secret target-access/no-key, key absent is absent; expected a kubeconfig or a configuration',
    })
  })

  it('cannot be opened from another namespace, by any name', async () => {
    await target('here', { config: { kubeconfig: stage().text } })
    for (const name of [`../../${NAMESPACE}/targets/here`, '..', '', 'HERE']) {
      expect(await failure(() => stage().access.open('default', name))).toMatchObject({ reason: 'NoTargetFound' })
    }
  })
})

describe('the server of a Target', () => {
  it.each<[string, (config: UserConfig) => void, object]>([
    [
      'that another authority vouches for ends the job',
      ({ clusters: [{ cluster }] }) => (cluster['certificate-authority-data'] = CERTIFICATE),
      { reason: 'UntrustedServer', ...CONFIGURATION },
    ],
    [
      'that refuses the token ends the job',
      ({ users: [{ user }] }) => (user['token'] = 'wrong'),
      { reason: 'Unauthorized', codes: ['ERR_UNAUTHORIZED'], isFinal: true },
    ],
    [
      'that does not answer is tried again',
      ({ clusters: [{ cluster }] }) => (cluster['server'] = 'https://127.0.0.1:1'),
      { reason: 'Unreachable', codes: [], isFinal: false },
    ],
  ])('%s', async (title, change, expected) => {
    const name = title.replaceAll(/[^a-z]+/g, '-')
    await target(name, { config: { kubeconfig: stage().changed(change) } })
    const cluster = await open(name)
    const path = `${stage().core}/configmaps/kube-root-ca.crt`
    for (const act of [() => cluster.servedKind('v1', 'Pod'), () => cluster.kube.request('GET', path)]) {
      const refused = await failure(act)
      expect(refused).toMatchObject(expected)
      expect(refused.message).not.toContain('127.0.0.1')
    }
  })

  it('is queried again for a kind that it did not serve before', async () => {
    await target('fresh', { config: { kubeconfig: stage().text } })
    const fresh = await open('fresh')
    const look = () => fresh.servedKind('target-access.example.org/v1', 'Fresh')
    expect(await look()).toBeUndefined()
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const name = 'freshes.target-access.example.org'
    await stage().admin.request('POST', crds, { body: { metadata: { name }, spec: crdSpec() } })
    try {
      expect(await look()).toBeUndefined()
      stage().nowMs += 1000
      for (let tries = 0; tries < 100 && (await look()) === undefined; tries += 1) {
        await sleep(100)
        stage().nowMs += 1000
      }
      expect(await look()).toMatchObject({ plural: 'freshes', namespaced: false })
    } finally {
      await stage().admin.request('DELETE', `${crds}/${name}`)
    }
  })

  function crdSpec(): object {
    const schema = { openAPIV3Schema: { type: 'object' } }
    return {
      group: 'target-access.example.org',
      names: { plural: 'freshes', singular: 'fresh', kind: 'Fresh', listKind: 'FreshList' },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    }
  }
})

describe('a server that is not an API server', () => {
  let server: Server
  let requests: string[]
  let answer: RequestListener
  beforeEach(async () => {
    requests = []
    server = createServer((request, response) => {
      requests.push(request.url ?? '')
      answer(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  async function opened(name: string): Promise<TargetCluster> {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/behind`
    const kubeconfig = stage().changed(({ clusters: [entry] }) => (entry.cluster = { server: url }))
    await target(name, { config: { kubeconfig } })
    return await open(name)
  }

  it('cannot exhaust the memory of the worker', async () => {
    const chunk = 'x'.repeat(1024 * 1024)
    answer = (_, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write(chunk, () => setImmediate(more))
      }
      more()
    }
    const { kube } = await opened('endless')
    const refused = await failure(() => kube.request('GET', '/api/v1/pods'))
    expect(refused).toMatchObject({ reason: 'Unreachable', isFinal: false })
    expect(refused.message).toContain('BODY_TOO_LONG')
  })

  it('cannot redirect requests, and its answer is not quoted', async () => {
    answer = (_, response) => response.writeHead(302, { location: '/canary' }).end('canary')
    const { kube } = await opened('redirecting')
    expect(await failure(() => kube.request('GET', '/api/v1/pods'))).toEqual({
      reason: 'Unknown',
      codes: [],
      isFinal: false,
      message: 'GET /api/v1/pods: 302 Unknown',
    })
    expect(requests).toEqual(['/behind/api/v1/pods'])
  })

  it.each(['null', '[]', '7', '{}', '{"metadata":7}', '{"resources":[null]}'])(
    'causes no unexpected error with the answer %s',
    async (body) => {
      answer = (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body)
      const cluster = await opened(`confusing-${Math.random().toString(36).slice(2)}`)
      const reference = { apiVersion: 'v1', kind: 'Pod', name: 'x', namespace: 'n' }
      const look = async () => (await readObject(cluster, reference)) === undefined
      // Either the object counts as missing, or the reason is Unreachable; no other error is allowed.
      expect(await look().catch((error: unknown) => toDeployError('Test', error).reason === 'Unreachable')).toBe(true)
    },
  )

  it('is not quoted when its answer is not JSON', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<canary>')
    const { kube } = await opened('other')
    expect((await failure(() => kube.request('GET', '/api/v1/pods'))).message).toBe(
      "GET /api/v1/pods: no answer from the target's server",
    )
  })
})
