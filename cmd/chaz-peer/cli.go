package main

// cli is the command line. Its JSON shapes are those of the API in node/control.
type cli struct {
	Home string `placeholder:"DIR" help:"Home folder of this peer (else $$CHAZ_HOME, else the XDG state folder)."`
	JSON bool   `name:"json" help:"Answer in JSON, for scripts."`

	Run     runCmd     `cmd:"" help:"Be the daemon: sync, and answer the other commands."`
	Demo    demoCmd    `cmd:"" help:"The main job in half a minute: three peers with lying clocks share a session and agree."`
	Sim     simCmd     `cmd:"" help:"The convergence lab: simulated peers on networks, disks and clocks that fail."`
	Status  statusCmd  `cmd:"" help:"Who is reached, what is held, and why anything is not in sync."`
	Doctor  doctorCmd  `cmd:"" help:"Check everything that can be checked, with a remedy for each fault."`
	ID      idCmd      `cmd:"" name:"id" help:"The id and the addresses of this peer."`
	Version versionCmd `cmd:"" help:"The version of this program."`
	Config  struct {
		Check configCheckCmd `cmd:"" help:"Check the config file and report all faults."`
		Show  configShowCmd  `cmd:"" help:"Show the settings in force, or a commented example."`
	} `cmd:"" help:"The config file."`
	Peers struct {
		List    peersListCmd    `cmd:"" help:"The peers that are known."`
		Pair    peersPairCmd    `cmd:"" help:"Make two machines devices of one person."`
		Pending peersPendingCmd `cmd:"" help:"Who asks for access and waits."`
		Approve peersApproveCmd `cmd:"" help:"Grant a request."`
		Reject  peersRejectCmd  `cmd:"" help:"Refuse a request."`
		Name    peersNameCmd    `cmd:"" help:"Give a peer a local name."`
		Pause   peersPauseCmd   `cmd:"" help:"Stop syncing with a peer."`
		Resume  peersResumeCmd  `cmd:"" help:"Sync with a paused peer again."`
	} `cmd:"" help:"Other peers."`
	Session sessionCmds `cmd:"" help:"Conversations."`
	Agent   agentCmds   `cmd:"" help:"Agents."`
	Cmd     cmdCmd      `cmd:"" help:"Run one slash command on a session."`

	Ext     extCmds     `cmd:"" help:"Extensions from outside: look, trust, pack, publish."`
	Tool    toolCmds    `cmd:"" help:"Tools, as a turn would have them."`
	Context contextCmd  `cmd:"" help:"What a turn of an agent would get: system text, tails, tools."`
	Routine routineCmds `cmd:"" help:"What fires by itself."`
	Secret  secretCmds  `cmd:"" help:"Secrets of this peer."`

	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
}

type sessionCmds struct {
	New     sessionNewCmd     `cmd:"" help:"Start a session."`
	List    sessionListCmd    `cmd:"" help:"The sessions on this peer."`
	Show    sessionShowCmd    `cmd:"" help:"One session: agents, active extensions, who stores it."`
	Post    sessionPostCmd    `cmd:"" help:"Write an entry."`
	Log     sessionLogCmd     `cmd:"" help:"Read the entries."`
	Search  sessionSearchCmd  `cmd:"" help:"Find entries that contain all the words."`
	Wait    sessionWaitCmd    `cmd:"" help:"Wait until a session is stored on several peers."`
	Import  sessionImportCmd  `cmd:"" help:"Take a file in, whole or not at all."`
	Export  sessionExportCmd  `cmd:"" help:"Write a session to a file."`
	Share   sessionShareCmd   `cmd:"" help:"Print a ticket for a session."`
	Tickets sessionTicketsCmd `cmd:"" help:"The tickets of a session; revoke one."`
	Join    sessionJoinCmd    `cmd:"" help:"Use a ticket."`
	Attach  sessionAttachCmd  `cmd:"" help:"Attach an agent to a session."`
	Detach  sessionDetachCmd  `cmd:"" help:"Detach an agent from a session."`
	Host    sessionHostCmd    `cmd:"" help:"Choose the agent that answers, or clear the choice."`
	Close   sessionCloseCmd   `cmd:"" help:"Put a session away; it still syncs."`
	Forget  sessionForgetCmd  `cmd:"" help:"Drop this peer's copy of a session."`
}

type agentCmds struct {
	New     agentNewCmd     `cmd:"" help:"Create an agent."`
	List    agentListCmd    `cmd:"" help:"The agents on this peer."`
	Show    agentShowCmd    `cmd:"" help:"One agent: config, opt-outs, who stores it."`
	Set     agentSetCmd     `cmd:"" help:"Set a config field of an agent."`
	Share   agentShareCmd   `cmd:"" help:"Print a ticket for an agent."`
	Tickets agentTicketsCmd `cmd:"" help:"The tickets of an agent; revoke one."`
	Join    agentJoinCmd    `cmd:"" help:"Use a ticket."`
	Invite  agentInviteCmd  `cmd:"" help:"Give a known peer a role in an agent, without a ticket."`
	Forget  agentForgetCmd  `cmd:"" help:"Drop this peer's copy of an agent."`
}
