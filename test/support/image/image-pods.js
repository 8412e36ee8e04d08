// The declaration of pods that run Pawl's image (`pawl node-agent --pods`): the kubelet's and the container runtime's
// part that the node agent does not know. JavaScript, because the agent loads it by its path.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { clusterAddress } from '../cluster/cluster-network.ts'
import { trialProcess } from './trial-images.js'

/** Variables of the agent: the unpacked image, its configuration, folders with NAMESPACE.hosts and with programs, and HOST:PORT of the cluster. */
const [ROOT, CONFIG, HOSTS, PROGRAMS, SERVER] = [
  'PAWL_IMAGE_ROOT',
  'PAWL_IMAGE_CONFIG',
  'PAWL_HOSTS',
  'PAWL_TRIAL_PROGRAMS',
  'PAWL_API_SERVER',
]

export const pods = {
  labels: ['pawl.dev/node-agent'],
  flags: {},
  load: () =>
    Promise.resolve({
      open: (_, { agentEnv }) => {
        const { config } = JSON.parse(readFileSync(agentEnv[CONFIG], 'utf8'))
        const imageEnv = Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)))
        const [host, port] = agentEnv[SERVER].split(':')
        // The kubelet sets the variables of the Service `kubernetes`.
        const cluster = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }
        return {
          fileSystem: 'container',
          reportedIP: clusterAddress,
          process: (container) => {
            const { pod, podIP, command, env, workingDir } = container
            const { runAsUser, runAsGroup } = pod.spec.securityContext
            const [uid, gid] = config.User.split(':').map(Number)
            const args = ownAddress(container.args, podIP)
            const trial = trialProcess(container, agentEnv[PROGRAMS])
            return Promise.resolve({
              argv: trial?.argv ?? [...(command.length > 0 ? command : config.Entrypoint), ...args],
              env: { ...imageEnv, HOSTNAME: pod.metadata.name, ...cluster, ...env },
              cwd: trial === undefined ? (workingDir ?? config.WorkingDir) : '/',
              image: trial?.image ?? {},
              unpackedImage: {
                folder: trial === undefined ? agentEnv[ROOT] : '/',
                uid: runAsUser ?? uid,
                gid: runAsGroup ?? gid,
                hosts: join(agentEnv[HOSTS], `${pod.metadata.namespace}.hosts`),
              },
            })
          },
        }
      },
    }),
}

/** All pods share this machine's network, in which each has an address of its own. The webhook listens on all by default. */
function ownAddress(args, podIP) {
  const own = args.map((word) => word.replace('0.0.0.0', podIP))
  return args[0] === 'webhook' ? [...own, `--host=${podIP}`] : own
}
