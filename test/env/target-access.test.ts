// Connections to clusters of Targets, against a real API server with RBAC.

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

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
    const served = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false }
    expect(await cluster.servedKind('v1', 'Namespace')).toEqual(served)
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

  it.each<[string, object, string]>([
    ['other-type', { type: 'example.org/canary', config: {} }, 'spec.type: found another type'],
    ['nothing', {}, 'spec: found neither config nor secretRef; expected one of them'],
    ['both', { config: {}, secretRef: { name: 's' } }, 'spec: found both config and secretRef'],
    [
      'no-secret',
      { secretRef: { name: 'absent' } },
      'spec.secretRef.name: Secret "target-access/absent" does not exist; create it',
    ],
    ['path', { secretRef: { name: '../configmaps/x' } }, 'does not exist'],
    ['empty', { config: {} }, 'spec.config: found neither kubeconfig nor selfConfig; expected one of them'],
    ['text', { config: 'canary' }, 'spec.config: found another text; expected a map with kubeconfig or selfConfig'],
    ['oidc', { config: { oidcConfig: { server: 'canary' } } }, 'spec.config.oidcConfig: found a value'],
    ['old', { config: { kubeconfig: { secretRef: {} } } }, 'spec.config.kubeconfig.secretRef: found a value'],
    ['exec', { config: { kubeconfig: 'clusters: []\nexec: canary' } }, 'spec.config.kubeconfig'],
    ['foreign', self({ name: 'a', namespace: 'canary' }), 'selfConfig.serviceAccount.namespace: found a value'],
    ['no-account', self({ name: 'absent' }), 'ServiceAccount "target-access/absent" does not exist'],
    ['odd-account', self({ name: '../canary' }), 'selfConfig.serviceAccount.name: found another text'],
    [
      'short',
      self({ name: 'default' }, 1),
      'expirationSeconds: found another number; expected whole seconds, at least 600',
    ],
  ])('%s is refused with a final error that names the field and the mistake', async (name, spec, message) => {
    await target(name, spec)
    const refused = await failure(() => open(name))
    expect(refused).toMatchObject({ reason: 'InvalidTarget', ...CONFIGURATION })
    expect(refused.message).toContain(message)
    expect(refused.message).toContain(`Target "${NAMESPACE}/${name}"`)
    expect(refused.message).not.toContain('canary')
  })

  function self(serviceAccount: object, expirationSeconds = 1000): object {
    return { config: { selfConfig: { serviceAccount, expirationSeconds } } }
  }

  it('is refused when the key of its Secret is absent', async () => {
    await target('no-key', await behind('no-key', { canary: 'canary' }, 'absent'))
    expect(await failure(() => open('no-key'))).toMatchObject({
      reason: 'InvalidTarget',
      ...CONFIGURATION,
      message:
        'Target "target-access/no-key": Secret "target-access/no-key", key "absent": found nothing; expected a kubeconfig or a configuration',
    })
  })

  it('cannot be opened when it is missing, or from another namespace, by any name', async () => {
    const message = `Target "${NAMESPACE}/missing" does not exist; create it`
    expect(await failure(() => open('missing'))).toMatchObject({ reason: 'NoTargetFound', ...CONFIGURATION, message })
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
})
