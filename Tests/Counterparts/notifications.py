"""A notification server on the session bus (Desktop Notifications Specification 1.2), which clicks on a button of each notification.
Prints a line of JSON for each notification, with its texts, buttons and timeout, and for each that is closed.

Usage: notifications.py BUTTON|none"""

import json
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"


class Server(dbus.service.Object):
    def __init__(self, bus, button):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.button, self.count = button, 0

    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout):
        self.count += 1
        tell(app=app, id=self.count, summary=summary, body=body, actions=list(actions), timeout=timeout)
        if self.button in actions:
            GLib.timeout_add(200, self.ActionInvoked, self.count, self.button)
        return self.count

    @dbus.service.method(NAME, in_signature="u")
    def CloseNotification(self, number):
        tell(closed=int(number))
        self.NotificationClosed(number, 3)

    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self):
        return ["actions", "body", "body-markup"]

    @dbus.service.method(NAME, out_signature="ssss")
    def GetServerInformation(self):
        return "test", "oriel", "1", "1.2"

    @dbus.service.signal(NAME, signature="us")
    def ActionInvoked(self, number, key):
        pass

    @dbus.service.signal(NAME, signature="uu")
    def NotificationClosed(self, number, reason):
        pass


def tell(**fields):
    print(json.dumps(fields), flush=True)


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
server = Server(bus, sys.argv[1])
GLib.MainLoop().run()
