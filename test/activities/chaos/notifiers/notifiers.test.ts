// Notifiers with a local HTTP server.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { openNotifiers } from '../../../../activities/chaos/notifiers/open.ts'
import type { NotifiedEvent } from '../../../../activities/run/notifier.ts'
import { readNotifierConfig } from '../../../../workflows/chaos/notifier-config.ts'
import type { ActivityError, Notification } from '../../../../workflows/kit/index.ts'
import { Receiver } from '../../../support/chaos/receiver.ts'

let receiver: Receiver
let folder: string
const logged: string[] = []
const log = {
  info: (_: object, message: string) => void logged.push(message),
  warn: (_: object, message: string) => void logged.push(message),
} as Parameters<typeof openNotifiers>[1]

beforeEach(async () => {
  receiver = await Receiver.start()
  folder = mkdtempSync(join(tmpdir(), 'pawl-notifiers-'))
  logged.length = 0
})
afterEach(async () => {
  await receiver.close()
  rmSync(folder, { recursive: true })
})

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const subject = { kind: 'Disruption', namespace: 'shop', name: 'slow', uid: 'u1' }

function event(more: Partial<NotifiedEvent> = {}): NotifiedEvent {
  const told = { type: 'Normal', reason: 'Finished', message: 'all is undone' } as const
  return { controller: 'disruption', subject, ...told, at: new Date(0), object: undefined, ...more }
}

function open(notifiers: object) {
  return openNotifiers(readNotifierConfig({ controller: { notifiers } }).config, log).all
}

/** Sends the notification to all receivers in order; returns the failures. */
async function tell(notifiers: object, told = event()): Promise<readonly ActivityError[]> {
  const failures: ActivityError[] = []
  for (const notifier of open(notifiers))
    for (const { name, payload } of notifier.receivers(told)) {
      const about = { id: `id/${name}`, controller: 'disruption', notifier: notifier.name, receiver: name, subject }
      const notice: Notification = { ...about, apiVersion: '', reason: '', payload, tries: { attempts: 1, retryMs: 1 } }
      await notifier.send(notice, new AbortController().signal).catch((error: unknown) => {
        failures.push(error as ActivityError)
      })
    }
  return failures
}

const http = (more: object = {}) => ({ http: { disruption: { enabled: true, url: `${receiver.url}/hook` }, ...more } })
const slack = (more: object = {}) => ({ slack: { enabled: true, apiURL: receiver.url, ...more } })

describe('the HTTP notifier', () => {
  it('requests a token first if configured, and reads headers for each request', async () => {
    receiver.answering = ({ path }, response) => response.end(path === '/auth' ? '{"data":{"token":"t1"}}' : '')
    const headersFilepath = file('headers', 'X-Team: one\r\n\nX-Plain: two\n')
    const config = http({
      headers: ['X-Plain: three:four'],
      headersFilepath,
      authURL: `${receiver.url}/auth`,
      authHeaders: ['X-Key: k'],
      authTokenPath: 'data.token',
    })
    expect(await tell(config)).toEqual([])
    expect(receiver.received.map(({ path }) => path)).toEqual(['/auth', '/hook'])
    expect(receiver.received[0]?.headers).toMatchObject({ 'x-key': 'k' })
    expect(receiver.received[1]?.headers).toMatchObject({
      'x-team': 'one',
      'x-plain': 'three:four',
      authorization: 'Bearer t1',
      'idempotency-key': 'id/http',
    })
  })

  it('may be retried after every failure, and its errors contain no URL, headers or responses', async () => {
    receiver.answering = (_, response) => response.writeHead(429, { 'retry-after': '7' }).end('secret')
    const { host } = new URL(receiver.url)
    const [limited] = await tell(http({ headers: ['X: secret'] }))
    expect(limited).toMatchObject({
      code: 'NotifierRefused',
      retryable: true,
      retryMs: 7000,
      message: `http at ${host} answers 429; expected 2xx`,
    })
    receiver.answering = (_, response) => response.destroy()
    const [cut] = await tell(http())
    expect(cut).toMatchObject({ code: 'NotifierUnreachable', retryable: true })
    expect(cut?.message).toMatch(new RegExp(`^http at ${host} does not answer: [A-Z_]+$`))
    receiver.answering = (_, response) => response.end('{"data":{"secret":1}}')
    const [none] = await tell(http({ authURL: `${receiver.url}/auth`, authTokenPath: 'data.token' }))
    expect(none?.message).toBe('authURL: the answer has no token; expected a token at data.token')
  })

  it('does not start without its file, and reports an invalid line', () => {
    const missing = join(folder, 'missing')
    expect(() => open(http({ headersFilepath: missing }))).toThrow(`${missing}: cannot be read (ENOENT)`)
    expect(() => open(http({ headersFilepath: file('wrong', 'X: y\nsecret') }))).toThrow(
      `${join(folder, 'wrong')}: line 2: found no colon; expected name: value`,
    )
  })

  it('sends Events of crons only if configured', () => {
    const [notifier] = open(http())
    expect(notifier?.receivers(event({ subject: { ...subject, kind: 'DisruptionCron' } }))).toEqual([])
    expect(notifier?.receivers(event({ subject: { ...subject, kind: 'DisruptionRollout' } }))).toEqual([])
  })
})

describe('the Slack notifier', () => {
  const reporting = { slackChannel: 'shop-team', minNotificationType: 'Completion' }
  const annotations = { UserInfo: '{"username":"ann@example.com"}' }
  const object = { metadata: { name: 'slow', annotations }, spec: { reporting } }

  it('posts to the mirror channel, the channel of the Disruption, and its author', async () => {
    receiver.answering = ({ path }, response) =>
      response.end(path.startsWith('/users.lookupByEmail') ? '{"ok":true,"user":{"id":"U7"}}' : '{"ok":true}')
    const config = slack({ tokenFilepath: file('token', 'xoxb-1\n'), mirrorSlackChannelId: 'C1' })
    expect(await tell(config, event({ object }))).toEqual([])
    expect(
      receiver.received.map(({ path, body }) => [path, (body as { channel?: string } | undefined)?.channel]),
    ).toEqual([
      ...[
        ['/chat.postMessage', 'C1'],
        ['/chat.postMessage', 'shop-team'],
      ],
      ...[
        ['/users.lookupByEmail?email=ann%40example.com', undefined],
        ['/chat.postMessage', 'U7'],
      ],
    ])
    expect(receiver.received[0]?.headers.authorization).toBe('Bearer xoxb-1')
    receiver.received.length = 0
    await tell(config, event({ object, reason: 'ChaosPodCreated' }))
    expect(receiver.received).toHaveLength(1)
  })

  it("reports Slack's error code, and logs an author without an account", async () => {
    const tokenFilepath = file('token', 'xoxb-1')
    receiver.answering = (_, response) => response.end('{"ok":false,"error":"msg_too_long"}')
    expect(await tell(slack({ tokenFilepath, mirrorSlackChannelId: 'C1' }))).toMatchObject([
      {
        code: 'SlackRefused',
        retryable: false,
        message: 'Slack: chat.postMessage: found msg_too_long; expected ok',
      },
    ])
    receiver.answering = (_, response) => response.end('{"ok":false,"error":"users_not_found"}')
    expect(await tell(slack({ tokenFilepath }), event({ object: { ...object, spec: {} } }))).toEqual([])
    expect(logged).toEqual(['the author of the Disruption has no Slack account'])
  })

  it('posts to an incoming webhook in the same format, without a token', async () => {
    expect(
      await tell(slack({ webhookURLFilepath: file('url', `${receiver.url}/services/T1`) }), event({ object })),
    ).toEqual([])
    expect(receiver.received).toMatchObject([{ path: '/services/T1', body: { text: "Disruption 'slow' is over." } }])
  })
})

it('the noop notifier only logs', async () => {
  expect(await tell({ noop: { enabled: true } })).toEqual([])
  expect(logged).toEqual(['noop notifier'])
})
