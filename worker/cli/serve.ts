// The commands `pawl bridge`, `pawl worker`, `pawl webhook` and `pawl api`.

import type { Command } from 'commander'

import { API_FLAGS, apiSettings } from '../api/flags.ts'
import { BRIDGE_FLAGS, bridgeSettings } from '../bridge/settings.ts'
import { reconcilerSettings, WORKER_FLAGS } from '../reconciler/settings.ts'
import { WEBHOOK_FLAGS, webhookSettings } from '../webhook/flags.ts'
import { TEMPORAL_DETAILS } from './options.ts'
import { processCommand } from './process.ts'

const BRIDGE_TIMES = ['lease-ms', 'watchdog-ms', 'relist-ms', 'hold-ms']
const WORKER_SELDOM = [
  ...TEMPORAL_DETAILS,
  ...['payload-key', 'content-key', 'workflow-bundle', 'call-stacks', 'dispatch-slots', 'cached-runs'],
  ...['wake-lease-ms', 'sweep-ms', 'drain-ms', 'workflow-task-timeout-ms', 'sticky-timeout-ms', 'health-check-ms'],
  ...[
    'pickup-timeout',
    'metrics-sink',
    'verify-signatures',
    'target-allow',
    'critical-problems',
    'health-check',
    'health-host',
    'health-port',
  ],
  ...['default-contexts', 'default-context-repository', 'default-context-excluded', 'target-sync', 'registry-local'],
]

export function bridgeCommand(): Command {
  return processCommand({
    name: 'bridge',
    description: 'watch Kubernetes and append every event to the journal',
    main: async () => await import('../bridge.ts'),
    flags: BRIDGE_FLAGS,
    check: bridgeSettings,
    seldom: [...BRIDGE_TIMES, 'health-check-ms', 'default-contexts', 'target-sync'],
    examples: ['pawl bridge --database-url postgres://pawl@db/pawl --namespace team-a'],
    acts: false,
  })
}

export function workerCommand(): Command {
  return processCommand({
    name: 'worker',
    description: 'dispatch wakes and run workflows and activities',
    main: async () => await import('../reconciler.ts'),
    flags: WORKER_FLAGS,
    check: reconcilerSettings,
    seldom: WORKER_SELDOM,
    examples: ['pawl worker --database-url postgres://pawl@db/pawl --temporal-address temporal:7233'],
    acts: true,
  })
}

export function webhookCommand(): Command {
  return processCommand({
    name: 'webhook',
    description: 'answer the API server whether objects may be stored',
    main: async () => await import('../webhook.ts'),
    flags: WEBHOOK_FLAGS,
    check: webhookSettings,
    seldom: ['certificate-lifetime', 'authority-lifetime', 'drain-ms', 'health-host', 'health-port', 'metrics-sink'],
    examples: ['pawl webhook --host 0.0.0.0 --service pawl/pawl-webhook'],
    acts: false,
  })
}

export function apiCommand(): Command {
  return processCommand({
    name: 'api',
    description: "answer queries of the journal, by the users' rights in Kubernetes",
    main: async () => await import('../api.ts'),
    flags: API_FLAGS,
    check: apiSettings,
    examples: ['pawl api --database-url postgres://asker@db/pawl'],
    acts: false,
  })
}
