// The operators' configuration: files of chaos-controller, as its chart renders them, and Pawl's fields.

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { DEFAULT_CONFIG } from '../../../workflows/chaos/config.ts'
import { readChaosConfig } from '../../../workflows/chaos/read-config.ts'
import { problemText } from '../../../workflows/kit/index.ts'

const problems = (document: unknown) => readChaosConfig(document).problems.map(problemText)

/** Empty values count as missing. */
const RENDERED = `
controller:
  healthProbeBindAddr: "0.0.0.0:8081"
  leaderElection: true
  metricsSink: "noop"
  deleteOnly: true
  expiredDisruptionGCDelay: 10m
  enableSafeguards: true
  enableObserver: true
  defaultDuration: 5m
  maxDuration: 2h
  minimumCronFrequency: 15m
  disruptionCronEnabled: true
  disruptionRolloutEnabled: false
  userInfoHook: true
  safeMode:
    enable: false
    permittedUserGroups:
      - "system:authenticated"
    environment:
    namespaceThreshold: 80
  disabledDisruptions:
    - node-failure
  cloudProviders:
    disableAll: false
    pullInterval: 12h
    aws:
      enabled: true
      ipRangesURL: https://mirror.example.com/aws.json
    gcp:
      enabled: true
      ipRangesURL:
      extraIpRanges:
        - Google;199.36.153.8/30;199.36.153.4/30
    datadog:
      enabled: true
      ipRangesURL:
injector:
  image: example.com/chaos-injector:latest
  imagePullSecrets: false
  serviceAccount: "chaos-injector"
  chaosNamespace: "disturbers"
  tolerations:
    - operator: Exists
  dnsDisruption:
    kubeDns: "off"
  networkDisruption:
    hostResolveInterval: "30s"
    allowedHosts:
      - 10.0.0.0/8;80;tcp;egress
      - ;443;;
      - 10.0.0.1
handler:
  image: example.com/chaos-handler:latest
  enabled: true
  timeout: 10m
  cpu: "10m"
  memory: "5Mi"
`

describe("a file as chaos-controller's chart renders it", () => {
  it('is accepted', () => {
    const { config, problems: found } = readChaosConfig(parse(RENDERED))
    expect(found).toEqual([])
    expect(config.injector).toMatchObject({
      image: 'example.com/chaos-injector:latest',
      chaosNamespace: 'disturbers',
      tolerations: [{ operator: 'Exists' }],
      hostResolveIntervalMs: 30_000,
      allowedHosts: [
        { host: '10.0.0.0/8', port: 80, protocol: 'tcp', flow: 'egress' },
        { port: 443 },
        { host: '10.0.0.1' },
      ],
    })
    expect(config.injector.imagePullSecret).toBeUndefined()
    expect(config.controller).toMatchObject({
      deleteOnly: true,
      defaultDurationMs: 300_000,
      maxDurationMs: 7_200_000,
      expiredDisruptionGCDelayMs: 600_000,
      disabledDisruptions: ['node-failure'],
      disruptionCronEnabled: true,
      disruptionRolloutEnabled: false,
      safeMode: {
        enable: false,
        environment: '',
        namespaceThreshold: 80,
        permittedUserGroups: ['system:authenticated'],
      },
    })
    expect(config.cloudProviders).toEqual({
      pullIntervalMs: 12 * 3_600_000,
      urls: { ...DEFAULT_CONFIG.cloudProviders.urls, aws: 'https://mirror.example.com/aws.json' },
      extraRanges: { gcp: [{ service: 'Google', ranges: ['199.36.153.8/30', '199.36.153.4/30'] }] },
    })
    expect(config.handler).toMatchObject({ enabled: true, timeoutMs: 600_000, cpu: '10m', memory: '5Mi' })
  })
})

describe('a setting with two places in the file', () => {
  it("uses chaos-controller's place first, for each field", () => {
    const inner = { aws: { ipRangesURL: 'http://inner.example.com/' }, datadog: { enabled: false } }
    const outer = { pullInterval: '1h', aws: { enabled: false, ipRangesURL: 'http://outer.example.com/' } }
    const cloudsOf = (cloudProviders: object, own?: object) =>
      readChaosConfig({ controller: { cloudProviders }, ...(own !== undefined && { cloudProviders: own }) }).config
        .cloudProviders
    expect(cloudsOf({ ...inner, gcp: { enabled: false } }, outer)).toEqual({
      pullIntervalMs: 3_600_000,
      urls: {},
      extraRanges: {},
    })
    expect(cloudsOf({ ...inner, aws: { ...inner.aws, enabled: true } }, outer).urls).toMatchObject({
      aws: 'http://inner.example.com/',
    })
    expect(cloudsOf({ disableAll: true }, { disableAll: false }).urls).toEqual({})
    expect(cloudsOf({ disableAll: false }, { disableAll: true }).urls).toHaveProperty('aws')
  })

  it('is reported once, with the place of the invalid value', () => {
    expect(
      problems({
        controller: { cloudProviders: { aws: { ipRangesURL: 'file:///etc' }, gcp: { enabled: 'no' } } },
        cloudProviders: { pullInterval: 'long' },
      }),
    ).toEqual([
      'controller.cloudProviders.aws.ipRangesURL: found an invalid URL; expected a URL with http:// or https:// and a host, without a user',
      'controller.cloudProviders.gcp.enabled: found "no"; expected true or false',
      'cloudProviders.pullInterval: found "long"; expected a duration such as 1m30s',
    ])
    expect(problems({ controller: { cloudProviders: 3 }, handler: 'off' })).toEqual([
      'handler: found "off"; expected fields',
      'controller.cloudProviders: found 3; expected fields',
    ])
  })

  it('configures the handler', () => {
    const handlerOf = (handler: object) => readChaosConfig({ handler }).config.handler
    const resources = { cpu: '50m', memory: '50Mi' }
    expect(handlerOf({ resources })).toMatchObject(resources)
    expect(handlerOf({ cpu: '20m', resources })).toMatchObject({ cpu: '20m', memory: '50Mi' })
    expect(handlerOf({ cpu: '', memory: null })).toMatchObject({ cpu: '100m', memory: '100Mi' })
    expect(handlerOf({ cpu: 1, memory: 5e6 })).toMatchObject({ cpu: '1', memory: '5000000' })
    expect(handlerOf({ cpu: '.5', memory: '1e3' })).toMatchObject({ cpu: '.5', memory: '1e3' })
    expect(problems({ handler: { cpu: '1 core', memory: -1 } })).toEqual([
      'handler.cpu: found "1 core"; expected a quantity such as 100m or 64Mi',
      'handler.memory: found -1; expected a quantity such as 100m or 64Mi',
    ])
  })
})

describe('the extra IP ranges of a cloud provider', () => {
  it.each([
    'Google',
    'Google;',
    ';10.0.0.0/8',
    'Google;10.0.0.0/33',
    'Google;10.0.0.256/8',
    'Google;fd00::/8',
    7,
    null,
  ])('are rejected with the path of the invalid entry: %j', (entry) => {
    expect(
      problems({ controller: { cloudProviders: { gcp: { extraIpRanges: ['Google;10.0.0.0/8', entry] } } } }),
    ).toEqual([
      `controller.cloudProviders.gcp.extraIpRanges[1]: found ${JSON.stringify(entry)}; expected service;range with one or more ranges of IPv4, such as Google;199.36.153.8/30;199.36.153.4/30`,
    ])
  })
})

describe('the allowed hosts of the configuration', () => {
  const allowing = (...allowedHosts: readonly unknown[]) => ({ injector: { networkDisruption: { allowedHosts } } })

  it('are strings or objects, which may be mixed', () => {
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
  ])('are rejected with the path of the invalid entry: %j', (entry, found) => {
    const [problem, ...more] = problems(allowing('10.0.0.0/8', entry))
    expect(more).toEqual([])
    expect(problem).toMatch(
      `injector.networkDisruption.allowedHosts[1]: found ${found}; expected host;port;protocol;flow`,
    )
  })

  it('must be a list', () => {
    expect(problems({ injector: { networkDisruption: { allowedHosts: '10.0.0.0/8' } } })).toEqual([
      'injector.networkDisruption.allowedHosts: found "10.0.0.0/8"; expected a list',
    ])
  })
})

describe('the image pull secret', () => {
  it('is unset for false and for an empty text', () => {
    const secretOf = (imagePullSecrets: unknown) =>
      readChaosConfig({ injector: { imagePullSecrets } }).config.injector.imagePullSecret
    expect([false, '', null, 'registry'].map(secretOf)).toEqual([undefined, undefined, undefined, 'registry'])
    expect(problems({ injector: { imagePullSecrets: true } })).toEqual([
      'injector.imagePullSecrets: found true; expected a text',
    ])
  })
})

describe("the operators' configuration", () => {
  it('has defaults for an empty file', () => {
    for (const document of [undefined, null, {}, { controller: {}, injector: null, handler: {} }]) {
      const { config, problems: found } = readChaosConfig(document)
      expect(found).toEqual([])
      expect(JSON.parse(JSON.stringify(config))).toEqual(JSON.parse(JSON.stringify(DEFAULT_CONFIG)))
    }
  })

  it('has the default URLs of cloud lists', () => {
    const aws = { enabled: true, ipRangesURL: 'http://mirror.example.com/aws.json' }
    const { config, problems: found } = readChaosConfig({
      cloudProviders: { pullInterval: '1h', aws, gcp: { enabled: false } },
    })
    expect(found).toEqual([])
    const { datadog } = DEFAULT_CONFIG.cloudProviders.urls
    const urls = { aws: aws.ipRangesURL, datadog }
    expect(config.cloudProviders).toEqual({ pullIntervalMs: 3_600_000, urls, extraRanges: {} })
    expect(readChaosConfig({ cloudProviders: { disableAll: true, aws } }).config.cloudProviders.urls).toEqual({})
    expect(problems({ cloudProviders: { aws: { ipRangesURL: 'file:///etc/passwd' } } })).toEqual([
      'cloudProviders.aws.ipRangesURL: found an invalid URL; expected a URL with http:// or https:// and a host, without a user',
    ])
  })

  it('treats a negative delay as no deletion, and a maximum duration of 0 as unlimited', () => {
    const { config } = readChaosConfig({ controller: { expiredDisruptionGCDelay: '-1m', maxDuration: '0' } })
    expect(config.controller.expiredDisruptionGCDelayMs).toBeUndefined()
    expect(config.controller.maxDurationMs).toBeUndefined()
  })

  it('reports all invalid fields at once', () => {
    expect(problems('text')).toEqual(['found "text"; expected fields'])
    expect(
      problems({
        controller: { deleteOnly: 'yes', defaultDuration: 'long' },
        injector: { labels: { a: 1 } },
        handler: 3,
      }),
    ).toEqual([
      'controller.deleteOnly: found "yes"; expected true or false',
      'controller.defaultDuration: found "long"; expected a duration such as 1m30s',
      'injector.labels: found {"a":1}; expected fields with texts',
      'handler: found 3; expected fields',
    ])
    expect(problems({ controller: { metricsSink: 'prometheus' } })).toEqual([
      'controller.metricsSink: found "prometheus"; expected noop or datadog',
    ])
    expect(problems({ injector: { chaosNamespace: 'no/name' } })).toEqual([
      'injector.chaosNamespace: found "no/name"; expected the name of a namespace, such as chaos-engineering',
    ])
  })
})
