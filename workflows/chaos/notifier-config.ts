// The operators' configuration of notifiers: `controller.notifiers` of the configuration file, with chaos-controller's
// names. It is separate because it contains secrets: only the sending activities get it, never a pass, a history or a
// log. Pure. Source: spec/chaos.md 2.14, 2.15.
//
// N1. No problem repeats a value that may be a secret.
// N2. The configuration names files with secrets; the sending activities read them.

import type { Problem } from '../kit/index.ts'
import { EXPECTED_URL, isNothing, type Section, sectionIn, urlProblem } from './config-section.ts'

export interface HttpNotifierConfig {
  /** The URL for Disruptions; undefined: not sent. */
  readonly disruptionURL?: string
  readonly disruptionCronURL?: string
  /** `name: value` each. */
  readonly headers: readonly string[]
  /** A file with one header on each line. */
  readonly headersFilepath?: string
  /** The server that issues a bearer token before each request. */
  readonly auth?: {
    readonly url: string
    readonly headers: readonly string[]
    /** The path of the token in the JSON response, such as `data.token`; undefined: the response is the token. */
    readonly tokenPath?: string
  }
}

export interface SlackNotifierConfig {
  /** The file with a bot token, which may post to channels and users. */
  readonly tokenFilepath?: string
  /** The base URL of the API methods. */
  readonly apiURL: string
  /** A channel that gets all notifications. */
  readonly mirrorSlackChannelId?: string
  /** An incoming webhook, which gets all notifications and needs no token: the URL, or a file with the URL. */
  readonly webhookURL?: string
  readonly webhookURLFilepath?: string
}

export interface NotifierConfig {
  readonly clusterName: string
  readonly attempts: number
  readonly retryMs: number
  /** Writes lines to the worker's log. */
  readonly noop: boolean
  /** Sends events to the agent that also receives metrics. */
  readonly datadog: boolean
  readonly http?: HttpNotifierConfig
  readonly slack?: SlackNotifierConfig
}

// Delays of 1, 2, 4 ... seconds, at most five minutes: 24 minutes in total.
const DEFAULTS = { attempts: 12, retryMs: 1000 }
const SLACK_API = 'https://slack.com/api/'

/** @param document the parsed file; undefined for an empty one. */
export function readNotifierConfig(document: unknown): {
  readonly config: NotifierConfig
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const root = sectionIn(problems, '', isNothing(document) ? {} : document)
    .section('controller')
    .section('notifiers')
  const reading = { problems, at: 'controller.notifiers' }
  const common = root.section('common')
  const http = httpOf(root.section('http'), reading)
  const slack = slackOf(root.section('slack'), reading)
  const config: NotifierConfig = {
    clusterName: common.text('clusterName', ''),
    attempts: atLeastOne(common.number('attempts', DEFAULTS.attempts), reading),
    retryMs: common.duration('retryInterval', DEFAULTS.retryMs),
    noop: root.section('noop').flag('enabled', false),
    datadog: root.section('datadog').flag('enabled', false),
    ...(http !== undefined && { http }),
    ...(slack !== undefined && { slack }),
  }
  return { config, problems }
}

interface ProblemContext {
  readonly problems: Problem[]
  readonly at: string
}

function httpOf(section: Section, reading: ProblemContext): HttpNotifierConfig | undefined {
  const { problems, at } = reading
  const urls = {
    // The second form is from the time before crons; for crons both spellings are accepted.
    disruptionURL: urlOf(section.section('disruption')) ?? urlOf(section),
    disruptionCronURL: urlOf(section.section('disruptionCron')) ?? urlOf(section.section('disruptioncron')),
  }
  const enabled = Object.entries(urls).filter((entry): entry is [keyof typeof urls, string] => entry[1] !== undefined)
  if (enabled.length === 0) return undefined
  for (const [name, url] of enabled) checkURL(problems, `${at}.http.${name.slice(0, -'URL'.length)}.url`, url)
  const headersFilepath = section.text('headersFilepath', '')
  const auth = authOf(section, reading)
  return {
    ...Object.fromEntries(enabled),
    headers: headersIn(section, 'headers', reading),
    ...(headersFilepath !== '' && { headersFilepath }),
    ...(auth !== undefined && { auth }),
  }
}

function authOf(section: Section, reading: ProblemContext): HttpNotifierConfig['auth'] {
  const [url, tokenPath] = [section.secret('authURL'), section.text('authTokenPath', '')]
  if (url === '') return undefined
  checkURL(reading.problems, `${reading.at}.http.authURL`, url)
  return { url, headers: headersIn(section, 'authHeaders', reading), ...(tokenPath !== '' && { tokenPath }) }
}

/** Undefined if it is disabled. */
function urlOf(section: Section): string | undefined {
  return section.flag('enabled', false) ? section.secret('url') : undefined
}

function slackOf(section: Section, { problems, at }: ProblemContext): SlackNotifierConfig | undefined {
  if (!section.flag('enabled', false)) return undefined
  const given = {
    tokenFilepath: section.text('tokenFilepath', ''),
    mirrorSlackChannelId: section.text('mirrorSlackChannelId', ''),
    webhookURL: section.secret('webhookURL'),
    webhookURLFilepath: section.text('webhookURLFilepath', ''),
  }
  const apiURL = section.text('apiURL', SLACK_API)
  checkURL(problems, `${at}.slack.apiURL`, apiURL)
  if (given.webhookURL !== '') checkURL(problems, `${at}.slack.webhookURL`, given.webhookURL)
  if (given.tokenFilepath === '' && given.webhookURL === '' && given.webhookURLFilepath === '')
    problems.push({
      field: `${at}.slack`,
      found: 'neither tokenFilepath nor webhookURL nor webhookURLFilepath',
      expected: 'one of them; tokenFilepath is the file with the token of a bot',
    })
  if (given.tokenFilepath === '' && given.mirrorSlackChannelId !== '')
    problems.push({
      field: `${at}.slack.mirrorSlackChannelId`,
      found: 'mirrorSlackChannelId without tokenFilepath',
      expected: 'tokenFilepath, because a webhook sends to one channel only',
    })
  const set = Object.entries(given).filter(([, value]) => value !== '')
  return { apiURL: apiURL.endsWith('/') ? apiURL : `${apiURL}/`, ...Object.fromEntries(set) }
}

/** The problem of a header, without its value (N1). */
export function headerProblem(header: string): string | undefined {
  const [, name, value] = /^([^:]*):(.*)$/s.exec(header) ?? []
  if (name === undefined || value === undefined) return 'no colon'
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name.trim())) return 'an invalid header name'
  // Characters that HTTP treats as the end of a header would start another header.
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? undefined : 'an invalid header value'
}

export const EXPECTED_HEADER = 'name: value'

function headersIn(section: Section, name: string, { problems, at }: ProblemContext): readonly string[] {
  const headers = section.secrets(name)
  headers.forEach((header, index) => {
    const found = header === '' ? undefined : headerProblem(header)
    if (found !== undefined) problems.push({ field: `${at}.http.${name}[${index}]`, found, expected: EXPECTED_HEADER })
  })
  return headers
}

function atLeastOne(attempts: number, { problems, at }: ProblemContext): number {
  if (attempts >= 1 && attempts <= 1000) return attempts
  problems.push({ field: `${at}.common.attempts`, found: String(attempts), expected: 'a whole number from 1 to 1000' })
  return DEFAULTS.attempts
}

function checkURL(problems: Problem[], field: string, url: string): void {
  const found = urlProblem(url)
  if (found !== undefined) problems.push({ field, found, expected: EXPECTED_URL })
}
