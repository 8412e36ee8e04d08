import { describe, expect, it } from 'vitest'

import { type Cloud, cloudHosts, hasCloud, rangesIn } from '../../../workflows/chaos/cloud.ts'
import { problemText } from '../../../workflows/kit/index.ts'
import { AWS, DATADOG, GCP } from '../../support/chaos/published-lists.ts'

const published = new Map<Cloud, ReturnType<typeof rangesIn>>([
  ['aws', rangesIn('aws', AWS)],
  ['gcp', rangesIn('gcp', GCP)],
  ['datadog', rangesIn('datadog', DATADOG)],
])

describe('the published list of a cloud', () => {
  it('contains the IPv4 ranges of each service once', () => {
    expect(Object.fromEntries(published.get('aws') ?? [])).toEqual({
      S3: ['3.5.140.0/22', '52.219.0.0/20'],
      EC2: ['3.5.140.0/22'],
    })
    expect(Object.fromEntries(published.get('gcp') ?? [])).toEqual({ Google: ['8.8.4.0/24', '34.0.0.0/15'] })
    expect(Object.fromEntries(published.get('datadog') ?? [])).toEqual({
      agents: ['3.233.144.0/20'],
      synthetics: ['3.18.172.189/32', '3.18.188.104/32'],
    })
  })

  it.each([
    null,
    [],
    'text',
    { prefixes: 3 },
    { prefixes: [{ ip_prefix: 'x;y', ipv4Prefix: '1.2.3.4' }] },
    { agents: { prefixes_ipv4: [1] } },
  ])('that is %j is none', (document) => {
    for (const cloud of ['aws', 'gcp', 'datadog'] as const) expect(rangesIn(cloud, document).size).toBe(0)
  })
})

describe('services of clouds', () => {
  it('resolve to hosts with the packet fields of the spec', () => {
    const aws = [{ service: 'EC2', protocol: 'tcp' as const, flow: 'egress' as const, connState: 'new' as const }]
    expect(cloudHosts({ aws, gcp: [{ service: 'Google' }] }, published, 3)).toEqual({
      hosts: [
        { host: '3.5.140.0/22', protocol: 'tcp', flow: 'egress', connState: 'new' },
        { host: '8.8.4.0/24' },
        { host: '34.0.0.0/15' },
      ],
    })
    expect([hasCloud(undefined), hasCloud({ aws: [] }), hasCloud({ aws })]).toEqual([false, false, true])
  })

  it('are rejected by name if they are unknown, with the known services', () => {
    const found = cloudHosts({ aws: [{ service: 'S3' }, { service: 's4' }] }, published, 9)
    expect('problem' in found && problemText(found.problem)).toBe(
      'spec.network.cloud.aws[1].service: found "s4"; expected one of S3, EC2',
    )
  })

  it('are rejected by their number before the hosts are created', () => {
    const found = cloudHosts({ aws: Array.from({ length: 5 }, () => ({ service: 'S3' })) }, published, 4)
    expect('problem' in found && problemText(found.problem)).toBe(
      'spec.network.cloud: found services of more than 4 addresses; expected at most 4, together with hosts and Services',
    )
  })
})
