import { describe, expect, it } from 'vitest'

import { DEFAULT_CONFIG } from '../../../workflows/chaos/config.ts'
import { readChaosConfig } from '../../../workflows/chaos/read-config.ts'
import { problemText } from '../../../workflows/kit/index.ts'

const problems = (document: unknown) => readChaosConfig(document).problems.map(problemText)

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
      'cloudProviders.aws.ipRangesURL: found what is no such URL, expected http:// or https:// with a host, and no user',
    ])
  })

  it('accepts the names of chaos-controller, and ignores unknown fields', () => {
    const { config, problems: found } = readChaosConfig({
      controller: {
        metricsBindAddr: '127.0.0.1:8080',
        deleteOnly: true,
        defaultDuration: '5m',
        maxDuration: '2h',
        expiredDisruptionGCDelay: '10m',
        disabledDisruptions: ['node-failure'],
        safeMode: { enable: false, environment: 'staging', permittedUserGroups: ['sre'] },
      },
      injector: {
        image: 'example.com/chaos-injector:1',
        tolerations: [{ operator: 'Exists' }],
        networkDisruption: { allowedHosts: [{ host: '10.0.0.1', port: 443 }], hostResolveInterval: '30s' },
      },
      handler: { enabled: true, timeout: '10m', resources: { cpu: '50m' } },
    })
    expect(found).toEqual([])
    expect(config).toMatchObject({
      controller: {
        deleteOnly: true,
        defaultDurationMs: 300_000,
        maxDurationMs: 7_200_000,
        expiredDisruptionGCDelayMs: 600_000,
        disabledDisruptions: ['node-failure'],
        safeMode: { enable: false, namespaceThreshold: 80, environment: 'staging', permittedUserGroups: ['sre'] },
      },
      injector: {
        image: 'example.com/chaos-injector:1',
        tolerations: [{ operator: 'Exists' }],
        allowedHosts: [{ host: '10.0.0.1', port: 443 }],
        hostResolveIntervalMs: 30_000,
      },
      handler: { enabled: true, timeoutMs: 600_000, cpu: '50m', memory: '100Mi' },
    })
  })

  it('treats a negative delay as no deletion, and a maximum duration of 0 as unlimited', () => {
    const { config } = readChaosConfig({ controller: { expiredDisruptionGCDelay: '-1m', maxDuration: '0' } })
    expect(config.controller.expiredDisruptionGCDelayMs).toBeUndefined()
    expect(config.controller.maxDurationMs).toBeUndefined()
  })

  it('has the namespace of chaos pods', () => {
    const { config } = readChaosConfig({ injector: { chaosNamespace: 'disturbers' } })
    expect(config.injector.chaosNamespace).toBe('disturbers')
  })

  it('reports all invalid fields at once', () => {
    expect(problems('text')).toEqual(['found "text", expected fields'])
    expect(
      problems({
        controller: { deleteOnly: 'yes', defaultDuration: 'long' },
        injector: { labels: { a: 1 } },
        handler: 3,
      }),
    ).toEqual([
      'controller.deleteOnly: found "yes", expected true or false',
      'controller.defaultDuration: found "long", expected a duration such as 1m30s',
      'injector.labels: found {"a":1}, expected fields with texts',
      'handler: found 3, expected fields',
    ])
    expect(problems({ controller: { metricsSink: 'prometheus' } })).toEqual([
      'controller.metricsSink: found "prometheus", expected noop or datadog',
    ])
    expect(problems({ injector: { chaosNamespace: 'no/name' } })).toEqual([
      'injector.chaosNamespace: found "no/name", expected the name of a namespace, such as chaos-engineering',
    ])
  })
})
