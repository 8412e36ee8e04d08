// The answers of `fdbbackup status` (recordings 21/002 to 21/122).

import type { BackupRecord, Point } from './records.ts'

const DESCRIPTIONS: Readonly<Record<BackupRecord['state'], string>> = {
  Submitted: 'has been submitted',
  Running: 'has been started',
  RunningDifferentially: 'is differential',
  Completed: 'has been completed',
  Aborted: 'has been aborted',
}

export function isRunning({ state }: BackupRecord): boolean {
  return state === 'Submitted' || state === 'Running' || state === 'RunningDifferentially'
}

/** A backup that was restorable before its end stays restorable. */
export function isRestorable({ state, end }: BackupRecord): boolean {
  return end !== undefined && (state === 'RunningDifferentially' || state === 'Completed')
}

/** As the agents describe it in `layers.backup` of `status json`. */
export function describeState({ state }: BackupRecord): string {
  return DESCRIPTIONS[state]
}

export function backupStatusJson(
  tag: string,
  record: BackupRecord | undefined,
  paused: boolean,
  nowSeconds: number,
): string {
  const head = { SchemaVersion: '1.0.0', BackupAgentsPaused: paused, Tag: tag }
  if (record === undefined) return JSON.stringify(head)
  const { state, begin, end, bytes, intervalSeconds } = record
  const hasBegun = begin !== undefined && (state === 'Running' || state === 'RunningDifferentially')
  return JSON.stringify({
    ...head,
    UID: record.uid,
    Status: {
      Name: state,
      Description: describeState(record),
      Completed: state === 'Completed',
      Running: isRunning(record),
    },
    Restorable: isRestorable(record),
    ...(isRestorable(record) &&
      end !== undefined && {
        LatestRestorablePoint: {
          ...pointJson(end),
          ...(isRunning(record) && { LagSeconds: Math.max(0, Math.floor(nowSeconds - end.at)) }),
        },
      }),
    DestinationURL: record.url,
    ...(hasBegun && {
      StopAfterSnapshot: record.stopsWhenDone,
      SnapshotIntervalSeconds: intervalSeconds,
      LogBytesWritten: 0,
      RangeBytesWritten: bytes,
      LatestLogEnd: pointJson(end ?? begin),
      LatestSnapshotEnd: pointJson(end ?? begin),
      CurrentSnapshot: currentSnapshot(end ?? begin, intervalSeconds),
    }),
    Errors: [],
  })
}

/** The simulator writes snapshots in one step, so the current one has always just begun. */
function currentSnapshot(begin: Point, intervalSeconds: number): Readonly<Record<string, unknown>> {
  return {
    Begin: pointJson(begin),
    EndTarget: pointJson(after(begin, intervalSeconds)),
    IntervalSeconds: intervalSeconds,
    ExpectedProgress: 0,
    LastDispatch: { ...pointJson(begin), ShardsBehind: 1 },
  }
}

/** A million versions are a second. */
function after({ version, at }: Point, seconds: number): Point {
  return { version: version + seconds * 1e6, at: at + seconds }
}

function pointJson({ version, at }: Point): Readonly<Record<string, unknown>> {
  return { Version: version, EpochSeconds: Math.floor(at), Timestamp: timestamp(at) }
}

function timestamp(at: number): string {
  const [date = '', time = ''] = new Date(at * 1000).toISOString().split('T')
  return `${date.replaceAll('-', '/')}.${time.slice(0, 8)}+0000`
}

export function backupStatusText(record: BackupRecord | undefined, paused: boolean): string {
  const pausedText = paused ? '\nAll backup agents have been paused.\n' : ''
  if (record === undefined) return `No previous backups found.\n${pausedText}`
  const { tag, url, uid } = record
  const identity = `BackupUID: ${uid}\nBackupURL: ${url}\n`
  return `${headline(record, tag, url)}\n${identity}${details(record)}${pausedText}`
}

function headline({ state, end }: BackupRecord, tag: string, url: string): string {
  const running = `The backup on tag \`${tag}' is`
  const previous = `The previous backup on tag \`${tag}' at ${url}`
  switch (state) {
    case 'Submitted':
      return `${running} in progress (just started) to ${url}.`
    case 'Running':
      return `${running} in progress to ${url}.`
    case 'RunningDifferentially':
      return `${running} restorable but continuing to ${url}.`
    case 'Completed':
      return `${previous} completed at version ${String(end?.version ?? 0)}.`
    case 'Aborted':
      return `${previous} has been aborted.`
  }
}

function details(record: BackupRecord): string {
  const { state, begin, end, bytes, intervalSeconds } = record
  if (begin === undefined || !isRunning(record) || state === 'Submitted') return ''
  const at = ({ version, at: seconds }: Point): string => `${String(version)}, ${timestamp(seconds)}`
  const last = end ?? begin
  const progress =
    state === 'Running'
      ? 'The initial snapshot is still running.'
      : 'Current snapshot progress target is 0.00% (>100% means the snapshot is supposed to be done)'
  return `Snapshot interval is ${String(intervalSeconds)} seconds.  ${progress}

Details:
 LogBytes written - 0
 RangeBytes written - ${String(bytes)}
 Last complete log version and timestamp        - ${at(last)}
 Last complete snapshot version and timestamp   - ${at(last)}
 Current Snapshot start version and timestamp   - ${at(last)}
 Expected snapshot end version and timestamp    - ${at(after(last, intervalSeconds))}
 Backup supposed to stop at next snapshot completion - ${record.stopsWhenDone ? 'Yes' : 'No'}
`
}
