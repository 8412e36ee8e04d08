// Counts the changes of coordinators when a status with another connection string is written, and the errors of backups when a pass ends, in the process
// that executes the pass.

import type { FoundationDBMetric } from '../../../workflows/foundationdb/metrics.ts'
import { fieldsOf, textOf } from '../../../workflows/kit/index.ts'
import type { ControllerObserver } from '../../run/controller-observer.ts'
import type { Metrics } from '../../run/metrics.ts'

const CLUSTER_CONTROLLER = 'fdbcluster'
const BACKUP_CONTROLLER = 'fdbbackup'
const CHANGES: FoundationDBMetric = 'fdb_operator_coordinator_changes_total'
const BACKUP_ERRORS: FoundationDBMetric = 'fdb_operator_backup_reconcile_errors_total'

export function metricsObserver(metrics: Pick<Metrics, 'count'>): ControllerObserver {
  return {
    passEnded({ controller, namespace, name, fault }) {
      if (controller !== BACKUP_CONTROLLER || fault === undefined) return
      const subreconciler = fault.replace(/ \(again\)$/, '')
      metrics.count(BACKUP_ERRORS, { namespace, subreconciler }, 1, { name })
    },
    statusWritten({ controller, before, after }) {
      if (controller !== CLUSTER_CONTROLLER) return
      const { namespace = '', name } = after.metadata
      const [old, current] = [before, fieldsOf(after['status'])].map((status) => textOf(status['connectionString']))
      // The first connection string is no change.
      if (old !== '' && current !== '' && old !== current) metrics.count(CHANGES, { namespace }, 1, { name })
    },
  }
}
