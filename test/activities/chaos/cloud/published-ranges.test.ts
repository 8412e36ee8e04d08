import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { findHosts } from '../../../../activities/chaos/cloud/find-hosts.ts'
import { PublishedRanges } from '../../../../activities/chaos/cloud/published-ranges.ts'
import type { ChaosConfig } from '../../../../workflows/chaos/config.ts'
import type { ActivityContext } from '../../../../workflows/kit/index.ts'
import { PublishedLists } from '../../../support/chaos/published-lists.ts'

let lists: PublishedLists
let ms = 0
const warnings: string[] = []
beforeEach(async () => {
  lists = await PublishedLists.start()
  ms = 0
  warnings.length = 0
})
afterEach(async () => await lists.close())

function ranges(
  urls: Readonly<Record<string, string>> = { aws: lists.url('aws') },
  extraRanges: ChaosConfig['cloudProviders']['extraRanges'] = {},
): PublishedRanges {
  const config = { pullIntervalMs: 1000, urls, extraRanges }
  return new PublishedRanges({ config, now: () => ms, warn: (_details, message) => void warnings.push(message) })
}

describe('the cached address lists of clouds', () => {
  it('are downloaded once for all callers, and again after the pull interval', async () => {
    const known = ranges()
    const all = await Promise.all([known.of('aws'), known.of('aws')])
    expect(all.map((one) => one.get('EC2'))).toEqual([['3.5.140.0/22'], ['3.5.140.0/22']])
    ms = 999
    await known.of('aws')
    expect(lists.asked.get('/aws')).toBe(1)
    ms = 1000
    await known.of('aws')
    expect(lists.asked.get('/aws')).toBe(2)
  })

  it.each([
    ['answers otherwise', 503, / answers 503; expected 200$/],
    ['has no JSON', 'nonsense', / cannot be read: SyntaxError$/],
    ['has another form', '{"prefixes": []}', / returns no list in the format of aws$/],
  ])('are used as they were where the server %s, and told to be missing before', async (_, instead, told) => {
    const [known, fresh] = [ranges(), ranges()]
    await known.of('aws')
    lists.instead.set('/aws', instead)
    ms = 5000
    expect((await known.of('aws')).get('EC2')).toEqual(['3.5.140.0/22'])
    expect(warnings).toEqual(['the published addresses of a cloud could not be read; the previous ones are used'])
    await expect(fresh.of('aws')).rejects.toThrow(told)
    const asked = lists.asked.get('/aws')
    lists.instead.clear()
    ms = 14_999
    // Within the retry interval no request is sent.
    await expect(fresh.of('aws')).rejects.toThrow(told)
    expect((await known.of('aws')).size).toBe(2)
    expect(lists.asked.get('/aws')).toBe(asked)
    ms = 15_000
    expect((await fresh.of('aws')).size).toBe(2)
  })

  it("contain the operators' additions once, also for services that the cloud does not publish", async () => {
    const known = ranges(undefined, {
      aws: [
        { service: 'EC2', ranges: ['3.5.140.0/22', '10.1.0.0/16'] },
        { service: 'OWN', ranges: ['10.2.0.0/16'] },
      ],
    })
    expect(await known.hostsOf({ aws: [{ service: 'EC2' }, { service: 'OWN' }] })).toEqual({
      hosts: ['3.5.140.0/22', '10.1.0.0/16', '10.2.0.0/16'].map((host) => ({ host })),
    })
  })

  it('are reported as unavailable with the host of the URL only', async () => {
    const url = 'http://user:opensesame@127.0.0.1:1/list'
    await expect(ranges({ aws: url }).of('aws')).rejects.toThrow(
      'cloudProviders.aws.ipRangesURL at 127.0.0.1:1 cannot be read: ECONNREFUSED',
    )
  })

  it("are part of the activity's result, also when they are unavailable", async () => {
    const context = { parts: { publishedRanges: ranges() } } as unknown as ActivityContext
    const ask = async (cloud: object) => await findHosts({ cloud }, context)
    expect(await ask({ aws: [{ service: 'EC2' }] })).toEqual({ hosts: [{ host: '3.5.140.0/22' }] })
    expect(await ask({ gcp: [{ service: 'Google' }] })).toEqual({
      problem: 'spec.network.cloud: cloudProviders.gcp: it is off, so the addresses of gcp are unknown; turn it on',
    })
    expect(await ask({ aws: [{ service: 'ec2' }] })).toMatchObject({
      problem: expect.stringContaining('"ec2"') as unknown,
    })
  })
})
