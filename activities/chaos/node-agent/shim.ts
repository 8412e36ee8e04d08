// The shim between the agent and the injector of one pod: a shell that outlives the agent, so that the exit code of the
// injector is recorded even without an agent. It corresponds to the shim of a container runtime. It works in the folder
// of the pod (pod-folder.ts) and leaves these files:
//
// claim/    the shim has started: a second shim for the same pod starts nothing.
// shim      its line of /proc/PID/stat.
// injector  the line of the injector, written by the process itself before it becomes the injector, so every running
// injector is on record.
// exit      the exit code of the injector, or `unstarted` if the program does not exist.

import { spawn } from 'node:child_process'

// The injector leads its own session and process group: setsid in the background needs no additional process for that.
const INJECTOR = `
IFS= read -r line <"/proc/$$/stat" && printf '%s\\n' "$line" >injector.new && mv injector.new injector || exit 126
cd files && exec "$@"
`
const SHIM = `
mkdir claim 2>/dev/null || exit 0
tell() { printf '%s\\n' "$2" >"$1.new" && mv "$1.new" "$1"; }
IFS= read -r line <"/proc/$$/stat" && tell shim "$line" || exit 70
if ! command -v "$1" >/dev/null; then tell exit unstarted; exit 0; fi
trap : TERM INT HUP
setsid sh -c "$0" injector "$@" &
child=$!
wait "$child"; code=$?
while [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
tell exit "$code"
`

export interface ShimStart {
  readonly folder: string
  /** Program and arguments of the injector. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The file descriptor of the log. */
  readonly log: number
  /** Called when the shim has ended, unless this process has ended before. */
  readonly ended: () => void
}

/** Starts the shim detached from this process: it ends with the injector. @throws if the system has no shell. */
export async function startShim({ folder, argv, env, log, ended }: ShimStart): Promise<void> {
  const shim = spawn('sh', ['-c', SHIM, INJECTOR, ...argv], {
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
