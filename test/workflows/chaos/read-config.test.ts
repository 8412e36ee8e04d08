// Files of chaos-controller, as its chart renders them.

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { readChaosConfig } from '../../../workflows/chaos/read-config.ts'
import { problemText } from '../../../workflows/kit/index.ts'

const problems = (document: unknown) => readChaosConfig(document).problems.map(problemText)

/** What it leaves empty is nothing. */
const RENDERED = `
controller:
  healthProbeBindAddr: "0.0.0.0:8081"
  leaderElection: true
  metricsSink: "noop"
  enableSafeguards: true
  enableObserver: true
  defaultDuration: 5m
  maxDuration: 2h
  minimumCronFrequency: 15m
  userInfoHook: true
  safeMode:
    enable: false
    permittedUserGroups:
      - "system:authenticated"
    environment:
    namespaceThreshold: 80
  disabledDisruptions:
injector:
  image: example.com/chaos-injector:latest
  imagePullSecrets: false
  serviceAccount: "chaos-injector"
  chaosNamespace: "chaos-engineering"
  dnsDisruption:
    kubeDns: "off"
  networkDisruption:
    hostResolveInterval: "1m"
    allowedHosts:
      - 10.0.0.0/8;80;tcp;egress
      - ;443;;
handler:
  image: example.com/chaos-handler:latest
  enabled: true
`

describe("a file as chaos-controller's chart renders it", () => {
  it('is taken as it is meant', () => {
    const { config, problems: found } = readChaosConfig(parse(RENDERED))
    expect(found).toEqual([])
    expect(config.injector.imagePullSecret).toBeUndefined()
    expect(config.injector.allowedHosts).toEqual([
      { host: '10.0.0.0/8', port: 80, protocol: 'tcp', flow: 'egress' },
      { port: 443 },
    ])
    expect(config.controller.safeMode).toMatchObject({ environment: '', permittedUserGroups: ['system:authenticated'] })
  })
})

describe('hosts that operators allow', () => {
  const allowing = (...allowedHosts: readonly unknown[]) => ({ injector: { networkDisruption: { allowedHosts } } })

  it('are texts or objects, which may be mixed', () => {
    const { config, problems: found } = readChaosConfig(
      allowing('a.example;;;ingress;new;pod;50', { host: 'b.example', port: 53, protocol: 'udp', flow: '' }),
    )
    expect(found).toEqual([])
    expect(config.injector.allowedHosts).toEqual([
      { host: 'a.example', flow: 'ingress', connState: 'new', dnsResolver: 'pod', percentage: 50 },
      { host: 'b.example', port: 53, protocol: 'udp' },
    ])
  })

  it.each([
    ['10.0.0.0/8;http', '"10.0.0.0/8;http"'],
    [';;;', '";;;"'],
    [{ prot: 80 }, '{"prot":80}'],
    [{ host: 'a;b' }, '{"host":"a;b"}'],
    [{ host: 'a.example', port: '80' }, '{"host":"a.example","port":"80"}'],
    [{}, '{}'],
    [null, 'null'],
    [7, '7'],
  ])('are refused with their place where they are neither: %j', (entry, found) => {
    const [problem, ...more] = problems(allowing('10.0.0.0/8', entry))
    expect(more).toEqual([])
    expect(problem).toMatch(
      `injector.networkDisruption.allowedHosts[1]: found ${found}, expected host;port;protocol;flow`,
    )
  })

  it('are a list', () => {
    expect(problems({ injector: { networkDisruption: { allowedHosts: '10.0.0.0/8' } } })).toEqual([
      'injector.networkDisruption.allowedHosts: found "10.0.0.0/8", expected a list',
    ])
  })
})

describe('the Secret that images are pulled with', () => {
  it('is none for false and for an empty text', () => {
    const secretOf = (imagePullSecrets: unknown) =>
      readChaosConfig({ injector: { imagePullSecrets } }).config.injector.imagePullSecret
    expect([false, '', null, 'registry'].map(secretOf)).toEqual([undefined, undefined, undefined, 'registry'])
    expect(problems({ injector: { imagePullSecrets: true } })).toEqual([
      'injector.imagePullSecrets: found true, expected a text',
    ])
  })
})
