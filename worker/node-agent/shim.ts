// The shim between the agent and the process of one container: a shell that outlives the agent, so that the exit code of
// the process is recorded even without an agent. It corresponds to the shim of a container runtime. It works in the
// folder of one run (pod-folder.ts) and leaves these files:
//
// claim/    the shim has started: a second shim for the same run starts nothing.
// shim      its line of /proc/PID/stat.
// process   the line of the process, written by the process itself before it becomes the program, so every running
// program is on record.
// exit      the exit code of the process, or `unstarted` if the program does not exist.

import { spawn } from 'node:child_process'

// The process leads its own session and process group: setsid in the background needs no additional process for that.
const PROCESS = `
IFS= read -r line <"/proc/$$/stat" && printf '%s\\n' "$line" >process.new && mv process.new process || exit 126
cd "$1" && shift && exec "$@"
`
const SHIM = `
mkdir claim 2>/dev/null || exit 0
tell() { printf '%s\\n' "$2" >"$1.new" && mv "$1.new" "$1"; }
IFS= read -r line <"/proc/$$/stat" && tell shim "$line" || exit 70
if ! command -v "$2" >/dev/null; then tell exit unstarted; exit 0; fi
trap : TERM INT HUP
setsid sh -c "$0" process "$@" &
child=$!
wait "$child"; code=$?
while [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
tell exit "$code"
`

export interface ShimStart {
  readonly folder: string
  /** The working directory of the process. */
  readonly cwd: string
  /** Program and arguments of the process. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The file descriptor of the log. */
  readonly log: number
  /** Called when the shim has ended, unless this process has ended before. */
  readonly ended: () => void
}

/** Starts the shim detached from this process: it ends with the process. @throws if the system has no shell. */
export async function startShim({ folder, cwd, argv, env, log, ended }: ShimStart): Promise<void> {
  const shim = spawn('sh', ['-c', SHIM, PROCESS, cwd, ...argv], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', log, log],
  })
  await new Promise<void>((resolve, reject) => {
    shim.once('spawn', resolve)
    shim.once('error', reject)
  })
  shim.once('exit', ended)
  shim.unref()
}
