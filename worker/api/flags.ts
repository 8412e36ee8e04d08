// The settings of `pawl api`, from flags and environment variables.

import { isIP } from 'node:net'

import type { Config } from '../server/config.ts'
import { HTTP_SERVER_FLAGS, type FlagTable, type GivenFlags, readFlags } from '../server/flags.ts'
import { neededDatabase } from '../server/shared-settings.ts'
import type { RateLimits } from './rate-limiter.ts'

export const API_FLAGS = {
  kubeconfig: {
    takes: '<file>',
    reads: 'text',
    text: 'the cluster whose users send queries',
    default: '$KUBECONFIG, else in-cluster or the usual file',
  },
  'database-url': {
    takes: '<url>',
    reads: 'text',
    default: '$PAWL_DATABASE_URL',
    text: 'PostgreSQL of the journal; a role that may SELECT is enough',
  },
  cluster: { takes: '<name>', reads: 'text', otherwise: 'local', text: 'name of the cluster in the journal' },
  host: {
    takes: '<address>',
    reads: 'text',
    otherwise: '127.0.0.1',
    text: 'address of the server; other addresses than loopback require HTTPS',
  },
  port: { takes: '<port>', reads: 'number', least: 0, otherwise: 9444, text: 'its port there; 0 for a free one' },
  'certificate-dir': {
    takes: '<folder>',
    reads: 'text',
    text: 'serve HTTPS with tls.crt and tls.key of this folder; changed files are read again',
  },
  audiences: {
    takes: '<names>',
    reads: 'list',
    accepts: (text: string) => text !== '',
    expected: 'names of audiences',
    text: 'accept only tokens for one of these audiences',
    default: "the API server's own",
  },
  'rights-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 0,
    otherwise: 10_000,
    text: "how long it caches the user of a token and the user's rights",
  },
  'reviews-per-second': {
    takes: '<count>',
    reads: 'number',
    least: 1,
    otherwise: 50,
    text: 'TokenReviews of new tokens per second; further requests with new tokens are rejected',
  },
  'statement-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 100,
    otherwise: 5000,
    text: 'timeout of a query of the journal',
  },
  'user-at-once': {
    takes: '<count>',
    reads: 'number',
    least: 1,
    otherwise: 2,
    text: 'concurrent queries of one user; all ServiceAccounts of a namespace count as one user',
  },
  'user-per-second': {
    takes: '<count>',
    reads: 'number',
    least: 1,
    otherwise: 100,
    text: 'queries of one user per second',
  },
  ...HTTP_SERVER_FLAGS,
} as const satisfies FlagTable

export interface ApiSettings {
  readonly kubeconfigPath: string | undefined
  readonly databaseUrl: string
  readonly cluster: string
  readonly host: string
  readonly port: number
  readonly certificateDir: string | undefined
  readonly audiences: readonly string[]
  readonly permissionsMs: number
  readonly reviewsPerSecond: number
  readonly statementMs: number
  readonly rateLimits: RateLimits
  readonly drainMs: number
  readonly healthHost: string
  readonly healthPort: number
}

/** @throws an Error with the name of the flag, the value and the expected value. */
export function apiSettings(given: GivenFlags, config: Config): ApiSettings {
  const flags = readFlags(API_FLAGS, given)
  const perSecond = flags['user-per-second']
  return {
    kubeconfigPath: flags.kubeconfig ?? config.kubeconfig,
    databaseUrl: neededDatabase(flags['database-url'], config),
    cluster: flags.cluster,
    host: safeHost(flags.host, flags['certificate-dir']),
    port: flags.port,
    certificateDir: flags['certificate-dir'],
    audiences: flags.audiences,
    permissionsMs: flags['rights-ms'],
    reviewsPerSecond: flags['reviews-per-second'],
    statementMs: flags['statement-ms'],
    rateLimits: {
      concurrent: flags['user-at-once'],
      queued: 32,
      perSecond,
      burst: 3 * perSecond,
      unit: 'queries of one user',
    },
    drainMs: flags['drain-ms'],
    healthHost: flags['health-host'],
    healthPort: flags['health-port'],
  }
}

/** Without TLS the server listens on the loopback address only, because requests contain tokens of users. */
function safeHost(host: string, certificateDir: string | undefined): string {
  if (certificateDir !== undefined || isLoopback(host)) return host
  throw new Error(`--certificate-dir is missing, and --host ${host} is not a loopback address; set one of them`)
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
