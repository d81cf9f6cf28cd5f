package node

import (
	"slices"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// Methods is the local API of this node: one entry for each endpoint, whether it is online or not.
func (n *Node) Methods() []control.Method {
	return slices.Concat(n.peerMethods(), n.sessionMethods(), n.agentMethods(), n.toolMethods(), n.extMethods())
}

func (n *Node) peerMethods() []control.Method {
	return []control.Method{
		control.Func(control.GetStatus, n.status),
		control.Func(control.RunDoctor, n.doctor),
		control.Func(control.GetID, n.id),
		control.Func(control.GetConfig, n.settings),
		control.Func(control.RunCmd, n.cmd),

		control.Func(control.PeersList, n.peersList),
		control.Func(control.PeersPairStart, n.pairStart),
		control.Func(control.PeersPairWait, n.pairWait),
		control.Func(control.PeersPairJoin, n.pairJoin),
		control.Func(control.PeersPairConfirm, n.pairConfirm),
		control.Func(control.PeersPending, n.peersPending),
		control.Func(control.PeersApprove, n.peersApprove),
		control.Func(control.PeersReject, n.peersReject),
		control.Func(control.PeersName, n.peersName),
		control.Func(control.PeersPause, n.peersPause),
		control.Func(control.PeersResume, n.peersResume),
	}
}

func (n *Node) sessionMethods() []control.Method {
	return []control.Method{
		control.Func(control.SessionNew, n.sessionNew),
		control.Func(control.SessionList, n.sessionList),
		control.Func(control.SessionDetails, n.sessionShow),
		control.Func(control.SessionPost, n.sessionPost),
		control.StreamFunc(control.SessionPostFile, n.sessionPostFile),
		control.StreamFunc(control.SessionLog, n.sessionLog),
		control.Func(control.SessionSearch, n.sessionSearch),
		control.Func(control.SessionWait, n.sessionWait),
		control.StreamFunc(control.SessionImport, n.sessionImport),
		control.StreamFunc(control.SessionExport, n.sessionExport),
		control.Func(control.SessionShare, n.sessionShare),
		control.Func(control.SessionTickets, n.sessionTickets),
		control.Func(control.SessionTicketsRevoke, n.sessionTicketsRevoke),
		control.Func(control.SessionJoin, n.join),
		control.Func(control.SessionAttach, n.sessionAttach),
		control.Func(control.SessionDetach, n.sessionDetach),
		control.Func(control.SessionHost, n.sessionHost),
		control.Func(control.SessionClose, n.sessionClose),
		control.Func(control.SessionForget, n.sessionForget),
	}
}

func (n *Node) agentMethods() []control.Method {
	return []control.Method{
		control.Func(control.AgentNew, n.agentNew),
		control.Func(control.AgentList, n.agentList),
		control.Func(control.AgentDetails, n.agentShow),
		control.Func(control.AgentSet, n.agentSet),
		control.Func(control.AgentShare, n.agentShare),
		control.Func(control.AgentTickets, n.agentTickets),
		control.Func(control.AgentTicketsRevoke, n.agentTicketsRevoke),
		control.Func(control.AgentJoin, n.join),
		control.Func(control.AgentInvite, n.agentInvite),
		control.Func(control.AgentForget, n.agentForget),
	}
}

func (n *Node) toolMethods() []control.Method {
	return []control.Method{
		control.Func(control.SecretSet, n.secretSet),
		control.Func(control.SecretList, n.secretList),
		control.Func(control.SecretRemove, n.secretRemove),
		control.Func(control.ToolList, n.toolList),
		control.Func(control.ToolDescribe, n.toolDescribe),
		control.Func(control.ToolCall, n.toolCall),
		control.Func(control.ShowContext, n.turnContext),
		control.Func(control.RoutineList, n.routineList),
		control.Func(control.RoutineAdd, n.routineAdd),
		control.Func(control.RoutineRemove, n.routineRemove),
		control.Func(control.RoutineRun, n.routineRun),
	}
}

func (n *Node) extMethods() []control.Method {
	return []control.Method{
		control.Func(control.ExtPack, n.extPack),
		control.Func(control.ExtPublish, n.extPublish),
		control.Func(control.ExtYank, n.extYank),
		control.Func(control.ExtReleases, n.extReleases),
		control.StreamFunc(control.ExtShow, n.extShow),
		control.Func(control.ExtPendingList, n.extPending),
		control.StreamFunc(control.ExtTrust, n.extTrust),
		control.Func(control.ExtDeny, n.extDeny),
		control.Func(control.ExtUntrust, n.extUntrust),
		control.Func(control.ExtList, n.extList),
		control.StreamFunc(control.ExtExport, n.extExport),
		control.StreamFunc(control.ExtImport, n.extImport),
		control.Func(control.ExtAudit, n.extAudit),
		control.Func(control.ExtGC, n.extGC),
		control.Func(control.ExtLogs, n.extLogs),
	}
}
