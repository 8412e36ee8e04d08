import { describe, expect, it } from 'vitest'

import { problemText } from '../../../workflows/kit/index.ts'
import { readNotifierConfig } from '../../../workflows/chaos/notifier-config.ts'

const read = (notifiers: object) => readNotifierConfig({ controller: { notifiers } })
const problems = (notifiers: object) => read(notifiers).problems.map(problemText)

describe('the configuration of notifiers', () => {
  it('enables nothing by default', () => {
    expect(readNotifierConfig(undefined)).toEqual({
      config: { clusterName: '', attempts: 12, retryMs: 1000, noop: false, datadog: false },
      problems: [],
    })
    const off = { http: { disruption: { enabled: false, url: 'http://x' } }, slack: { enabled: false } }
    expect(read(off).config).toEqual(readNotifierConfig(undefined).config)
  })

  it('accepts the names of chaos-controller', () => {
    const { config, problems: wrong } = read({
      common: { clusterName: 'one', attempts: 3, retryInterval: '2s' },
      http: {
        headers: ['A: b:c'],
        headersFilepath: '/etc/headers',
        authURL: 'https://auth/token',
        authHeaders: ['X: y'],
        authTokenPath: 'data.token',
        disruption: { enabled: true, url: 'https://one/hook?x=1' },
        disruptionCron: { enabled: true, url: 'http://two' },
      },
      slack: { enabled: true, tokenFilepath: '/etc/token', mirrorSlackChannelId: 'C1' },
    })
    expect(wrong).toEqual([])
    expect(config).toEqual({
      clusterName: 'one',
      attempts: 3,
      retryMs: 2000,
      noop: false,
      datadog: false,
      http: {
        disruptionURL: 'https://one/hook?x=1',
        disruptionCronURL: 'http://two',
        headers: ['A: b:c'],
        headersFilepath: '/etc/headers',
        auth: { url: 'https://auth/token', headers: ['X: y'], tokenPath: 'data.token' },
      },
      slack: { apiURL: 'https://slack.com/api/', tokenFilepath: '/etc/token', mirrorSlackChannelId: 'C1' },
    })
  })

  it('accepts one URL for Disruptions in the older format', () => {
    expect(read({ http: { enabled: true, url: 'http://one' } }).config.http?.disruptionURL).toBe('http://one')
  })

  it('enables Datadog with a single flag', () => {
    expect(read({ datadog: { enabled: true } })).toMatchObject({ config: { datadog: true }, problems: [] })
    expect(read({}).config.datadog).toBe(false)
  })

  it('reports missing and invalid fields without values that may be secret', () => {
    const found = problems({
      common: { attempts: 0 },
      http: {
        disruption: { enabled: true },
        disruptionCron: { enabled: true, url: 'https://user:secret@host' },
        headers: ['secret', 'Na me: secret', 'X: sec\nret'],
        authURL: ['secret'],
      },
      slack: { enabled: true, apiURL: 'ftp://slack', mirrorSlackChannelId: 'C1' },
    })
    const url = 'a URL with http:// or https:// and a host, without a user'
    expect(found).toEqual([
      `controller.notifiers.http.disruption.url: found nothing; expected ${url}`,
      `controller.notifiers.http.disruptionCron.url: found a user; expected ${url}`,
      'controller.notifiers.http.authURL: found a list; expected a text',
      'controller.notifiers.http.headers[0]: found no colon; expected name: value',
      'controller.notifiers.http.headers[1]: found an invalid header name; expected name: value',
      'controller.notifiers.http.headers[2]: found an invalid header value; expected name: value',
      `controller.notifiers.slack.apiURL: found an invalid URL; expected ${url}`,
      'controller.notifiers.slack: found neither tokenFilepath nor webhookURL nor webhookURLFilepath; expected one of them; tokenFilepath is the file with the token of a bot',
      'controller.notifiers.slack.mirrorSlackChannelId: found mirrorSlackChannelId without tokenFilepath; expected tokenFilepath, because a webhook sends to one channel only',
      'controller.notifiers.common.attempts: found 0; expected a whole number from 1 to 1000',
    ])
    expect(found.join()).not.toContain('secret')
  })
})
