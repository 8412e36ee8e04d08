// The settings of the webhook, from flags and environment variables.

import { isIP } from 'node:net'

import type { Config } from '../server/config.ts'
import {
  HTTP_SERVER_FLAGS,
  type FlagTable,
  type FlagValues,
  type GivenFlags,
  joinFlagTables,
  requireFlag,
  readFlags,
} from '../server/flags.ts'
import { DEFAULT_SECRET } from '../server/webhook-secret.ts'
import { DEFAULT_WINGS_TEXT, readWingFlags, WEBHOOK_WING_FLAGS, WEBHOOK_WINGS, enabledWings } from '../server/wings.ts'

const OWN_FLAGS = {
  kubeconfig: {
    takes: '<file>',
    reads: 'text',
    text: 'the cluster whose API server calls the webhook',
    default: '$KUBECONFIG, else in-cluster or the usual file',
  },
  wings: {
    takes: '<names>',
    reads: 'text',
    default: DEFAULT_WINGS_TEXT,
    text: 'validate the kinds of these wings, such as landscaper,chaos',
  },
  namespace: {
    takes: '<name>',
    reads: 'text',
    default: 'all',
    text: 'validate one namespace only; the names of the configurations end in it',
  },
  host: { takes: '<address>', reads: 'text', text: 'address of the HTTPS server', otherwise: '0.0.0.0' },
  port: { takes: '<port>', reads: 'number', least: 0, otherwise: 9443, text: 'its port there; 0 for a free one' },
  service: {
    takes: '<namespace/name>',
    reads: 'text',
    text: 'the Service by which the API server reaches the webhook, on port 443; alternative to --url',
  },
  url: {
    takes: '<url>',
    reads: 'text',
    text: 'the URL of a webhook outside of the cluster, such as https://10.0.0.7:9443; alternative to --service',
  },
  'certificate-secret': {
    takes: '<namespace/name>',
    reads: 'text',
    default: `${DEFAULT_SECRET} in the namespace of the Service`,
    text: 'the Secret of the generated certificates, shared by all replicas',
  },
  'certificate-dir': {
    takes: '<folder>',
    reads: 'text',
    text: 'your own certificates instead of the Secret: tls.crt, tls.key, ca.crt; changed files are read again',
  },
  'certificate-lifetime': {
    takes: '<duration>',
    reads: 'duration',
    otherwise: '720h',
    text: 'lifetime of a serving certificate; Pawl renews it after two thirds',
  },
  'authority-lifetime': {
    takes: '<duration>',
    reads: 'duration',
    otherwise: '8760h',
    text: 'lifetime of the certificate authority; Pawl creates the next one after two thirds',
  },
  'failure-policy': {
    takes: '<policy>',
    reads: 'text',
    otherwise: 'Fail',
    text: 'what happens to writes while the webhook does not answer: Fail rejects them, Ignore accepts them',
  },
  'record-policy': {
    takes: '<policy>',
    reads: 'text',
    otherwise: 'Ignore',
    text: 'what happens to writes whose user the webhook records, while it does not answer: Ignore accepts them, Fail rejects them, so that the recorded user is reliable',
  },
  timeout: {
    takes: '<duration>',
    reads: 'duration',
    otherwise: '10s',
    text: 'how long the API server waits for an answer, 1s to 30s',
  },
  ...HTTP_SERVER_FLAGS,
} as const satisfies FlagTable

/** The webhook's own flags, then the flags of wings that apply to it. */
export const WEBHOOK_FLAGS: FlagTable = joinFlagTables(OWN_FLAGS, WEBHOOK_WING_FLAGS)

export interface SecretOrServiceName {
  readonly namespace: string
  readonly name: string
}

export type FailurePolicy = 'Fail' | 'Ignore'

/** How the API server reaches the webhook. */
export type WebhookAddress = { readonly service: SecretOrServiceName } | { readonly url: string }

export interface WebhookSettings {
  readonly kubeconfigPath: string | undefined
  readonly wings: readonly string[]
  /** Values of the wings' flags, by wing. */
  readonly wingFlags: ReadonlyMap<string, FlagValues<FlagTable>>
  /** The only namespace whose objects are checked; undefined for all. */
  readonly namespace: string | undefined
  readonly host: string
  readonly port: number
  readonly address: WebhookAddress
  readonly certificates: { readonly secret: SecretOrServiceName } | { readonly dir: string }
  readonly certificateLifetimeMs: number
  readonly authorityLifetimeMs: number
  readonly failurePolicy: FailurePolicy
  readonly recordPolicy: FailurePolicy
  readonly timeoutSeconds: number
  readonly drainMs: number
  readonly healthHost: string
  readonly healthPort: number
}

/** @throws an Error with the name of the flag, the value and the expected value. */
export function webhookSettings(given: GivenFlags, config: Config): WebhookSettings {
  const flags = readFlags(OWN_FLAGS, given)
  const wings = enabledWings(flags.wings)
  const address = readAddress(flags.service, flags.url)
  const [certificateLifetimeMs, authorityLifetimeMs] = readLifetimes(
    flags['certificate-lifetime'],
    flags['authority-lifetime'],
  )
  return {
    kubeconfigPath: flags.kubeconfig ?? config.kubeconfig,
    wings,
    wingFlags: readWingFlags(wings, given, WEBHOOK_WINGS),
    namespace: flags.namespace === undefined ? undefined : readNamespace('namespace', flags.namespace),
    host: flags.host,
    port: flags.port,
    address,
    certificates: readCertificates(flags['certificate-secret'], flags['certificate-dir'], address),
    certificateLifetimeMs,
    authorityLifetimeMs,
    failurePolicy: readPolicy('failure-policy', flags['failure-policy']),
    recordPolicy: readPolicy('record-policy', flags['record-policy']),
    timeoutSeconds: readTimeout(flags.timeout),
    drainMs: flags['drain-ms'],
    healthHost: flags['health-host'],
    healthPort: flags['health-port'],
  }
}

function readAddress(service: string | undefined, url: string | undefined): WebhookAddress {
  if (service !== undefined && url !== undefined)
    throw new Error('--url cannot be combined with --service; remove one of them')
  if (service !== undefined) return { service: readNamespacedName('service', service) }
  const text = requireFlag('service', url, 'the Service by which the API server reaches the webhook, or --url')
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  if (parsed?.protocol === 'https:' && parsed.pathname === '/' && parsed.search === '') return { url: parsed.origin }
  throw new Error(`--url: found "${text}"; expected https, a host and a port, such as https://10.0.0.7:9443`)
}

function readCertificates(
  secret: string | undefined,
  dir: string | undefined,
  address: WebhookAddress,
): WebhookSettings['certificates'] {
  if (dir !== undefined) {
    if (secret === undefined) return { dir }
    throw new Error('--certificate-dir cannot be combined with --certificate-secret; remove one of them')
  }
  if (secret !== undefined) return { secret: readNamespacedName('certificate-secret', secret) }
  if ('service' in address) return { secret: { namespace: address.service.namespace, name: DEFAULT_SECRET } }
  throw new Error(
    `--certificate-secret is missing; --url needs it; expected the Secret for the certificates, such as pawl/${DEFAULT_SECRET}`,
  )
}

// Both lifetimes must be longer than the time in which all API servers load a new certificate.
const MIN_LIFETIME_MS = 10_000

function readLifetimes(certificate: number | undefined, authority: number | undefined): readonly [number, number] {
  if (certificate === undefined || certificate < MIN_LIFETIME_MS)
    throw new Error('--certificate-lifetime: found less than 10s; expected at least 10s')
  if (authority === undefined || authority < certificate)
    throw new Error('--authority-lifetime: found less than --certificate-lifetime; expected at least the same duration')
  return [certificate, authority]
}

function readPolicy(flag: string, text: string): FailurePolicy {
  if (text === 'Fail' || text === 'Ignore') return text
  throw new Error(`--${flag}: found "${text}"; expected Fail or Ignore`)
}

function readTimeout(ms: number | undefined): number {
  const seconds = (ms ?? Infinity) / 1000
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= 30) return seconds
  throw new Error('--timeout: expected a whole number of seconds from 1s to 30s, a limit of the API server')
}

function readNamespacedName(flag: string, text: string): SecretOrServiceName {
  const [namespace = '', name = '', ...more] = text.split('/')
  if (more.length === 0 && name !== '') return { namespace: readNamespace(flag, namespace), name }
  throw new Error(`--${flag}: found "${text}"; expected namespace/name`)
}

// Source: RFC 1123 labels, as Kubernetes demands of namespaces.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

function readNamespace(flag: string, text: string): string {
  if (NAMESPACE.test(text)) return text
  throw new Error(`--${flag}: found "${text}"; expected the name of one namespace`)
}

/** The names and addresses by which the API server connects: the subject alternative names of the certificate. */
export function certificateNames(address: WebhookAddress): readonly string[] {
  if ('url' in address) return [new URL(address.url).hostname.replace(/^\[|\]$/g, '')]
  const { name, namespace } = address.service
  return [`${name}.${namespace}.svc`]
}

export function isIPAddress(name: string): boolean {
  return isIP(name) !== 0
}
